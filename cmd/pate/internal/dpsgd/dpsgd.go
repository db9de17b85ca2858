// Package dpsgd is the command `pate dpsgd`: one private model.
package dpsgd

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/results"
)

// dpsgdFlags are the flags of `pate dpsgd`. A zero default is the recipe's own.
type dpsgdFlags struct {
	data     shell.DataFlags
	own      ownFlags
	unitName string
	epsilon  string
	noise    float64
	without  bool
	features string
	model    string
	training trainingFlags
	seeds    int
	workers  int
	noCache  bool
	out      string
	ledger   string
	mode     string
	spend    float64
	typical  shell.TypicalFlags
}

func New(g *shell.Globals) *cobra.Command {
	var f dpsgdFlags
	cmd := &cobra.Command{
		Use:  "dpsgd [PRIVATE --public PUBLIC]",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.own.private = args[0]
			}
			return runDPSGD(cmd, g, f)
		},
	}
	flags := cmd.Flags()
	f.data.Add(flags)
	f.own.add(flags)
	flags.StringVar(&f.unitName, "unit-name", "", "what a unit is called, in ledgers too (default: the name of that column, or record)")
	flags.StringVar(&f.epsilon, "epsilon", "", "target of the model; several with commas are a model each (default 2); with --ledger, the "+
		"budget of a new one")
	flags.Float64Var(&f.noise, "noise-multiplier", 0, "noise over clip norm, instead of --epsilon")
	flags.BoolVar(&f.without, "no-privacy", false, "train without noise, and without clipping unless --clip is given")
	flags.StringVar(&f.features, "features", "", "features of images; "+strings.Join(recipe.FeatureSets(),
		", ")+"; centred and scattering ones learn a little from private rows, which is charged (default: by the data)")
	flags.StringVar(&f.model, "model", "", strings.Join(recipe.Models(), ", ")+" (default: linear)")
	f.training.add(cmd)
	flags.IntVar(&f.seeds, "seeds", 1, "independent models of each kind; more than one gives mean and sd")
	flags.IntVar(&f.workers, "workers", 0, "goroutines (default: as many as processors); the model does not depend on it")
	flags.BoolVar(&f.noCache, "no-cache", false, "compute features of images anew and keep none: else about 1.9 GB for MNIST, in "+
		"pate/features of the user's cache")
	flags.StringVar(&f.out, "out", "", "folder of model, results, curve and ledger; what may be published lies in its folder public, all "+
		"else in private")
	flags.StringVar(&f.ledger, "ledger", "", "charge this ledger; made if it is not there, instead of one of the run's own")
	flags.StringVar(&f.mode, "mode", "filter", "of a new --ledger: filter or reserved; others may charge a filter later, reserved is for "+
		"this model alone")
	flags.Float64Var(&f.spend, "spend", 0, "with --ledger: target of the model by itself, instead of all that is left")
	f.typical.Add(cmd)
	f.data.Complete(cmd)
	f.own.complete(cmd)
	shell.Complete(cmd, map[string]shell.Values{
		"unit-name": shell.Suggested("record", "patient", "user"), "epsilon": shell.Anything(), "features": shell.Words(recipe.FeatureSets()...),
		"model": shell.Suggested(recipe.Linear, "mlp:64", recipe.CNN), "out": shell.Folder(), "ledger": shell.Files("jsonl"),
		"mode":     shell.Words("filter", "reserved"),
		"clipping": shell.Words("flat", "per-layer", "automatic", "adaptive"), "optimizer": shell.Words("sgd", "nesterov", "adagrad",
			"adam", "adamw"),
		"sampling": shell.Words("poisson", "allocation", "balls-in-bins",
			"cyclic"), "bands": shell.Anything(), "schedule": shell.Suggested("constant", "linear", "cosine"),
	})
	return cmd
}

// check refuses flags that do not go together, and returns the epsilons.
func (f *dpsgdFlags) check(cmd *cobra.Command) ([]float64, error) {
	given := cmd.Flags().Changed
	var targets []float64
	if given("epsilon") {
		var err error
		if targets, err = shell.Targets(f.epsilon); err != nil {
			return nil, err
		}
	}
	if err := f.own.check(given); err != nil {
		return nil, err
	}
	switch {
	case given("noise-multiplier") && !(f.noise > 0 && f.noise <= math.MaxFloat64):
		return nil, fmt.Errorf("--noise-multiplier %v: must be a finite number above 0", f.noise)
	case given("spend") && f.ledger == "":
		return nil, errors.New("--spend is for --ledger; without it that is --epsilon")
	case given("spend") && !(f.spend > 0 && f.spend <= math.MaxFloat64):
		return nil, fmt.Errorf("--spend %v: must be a finite number above 0", f.spend)
	case given("spend") && given("noise-multiplier"):
		return nil, errors.New("--spend, --noise-multiplier: one follows from the other")
	case given("epsilon") && given("noise-multiplier") && f.ledger == "":
		return nil, errors.New("--epsilon, --noise-multiplier: one follows from the other")
	case f.without && (given("epsilon") || given("noise-multiplier") || f.ledger != ""):
		return nil, errors.New("--no-privacy has neither --epsilon nor --noise-multiplier nor --ledger")
	case f.ledger != "" && len(targets) > 1:
		return nil, errors.New("--epsilon is the budget of a ledger, one number")
	case f.ledger != "" && f.out == "":
		return nil, errors.New("--ledger needs --out: what is charged must not be lost")
	case given("mode") && f.ledger == "":
		return nil, errors.New("--mode is for a new --ledger")
	}
	return targets, nil
}

const (
	usualEpsilon    = 2 // What a recipe is for where nothing else says it
	clipOnlyEpsilon = 8 // and where gradients are clipped and get no noise
)

// plans returns the models asked for; budget is the budget of a shared ledger, or 0.
func (f *dpsgdFlags) plans(cmd *cobra.Command, s recipe.Shape, targets []float64, budget float64) ([]recipe.Plan, error) {
	plan := recipe.Plan{NoiseMultiplier: f.noise, NonPrivate: f.without, Epsilon: f.spend}
	one := func(epsilon float64) ([]recipe.Plan, error) {
		var err error
		plan.Recipe, err = f.recipe(cmd, s, epsilon)
		return []recipe.Plan{plan}, err
	}
	switch {
	case f.without && cmd.Flags().Changed("clip"): // only the noise is left out
		return one(clipOnlyEpsilon)
	case f.without:
		return one(math.Inf(1))
	case f.spend != 0:
		return one(f.spend)
	case f.ledger != "":
		return one(budget)
	case f.noise != 0:
		return one(usualEpsilon)
	case len(targets) == 0:
		targets = []float64{usualEpsilon}
	}
	var plans []recipe.Plan
	for _, epsilon := range targets {
		r, err := f.recipe(cmd, s, epsilon)
		if err != nil {
			return nil, err
		}
		plans = append(plans, recipe.Plan{Recipe: r, Epsilon: epsilon})
	}
	return plans, nil
}

// recipe returns the default recipe with the given flags in it.
func (f *dpsgdFlags) recipe(cmd *cobra.Command, s recipe.Shape, epsilon float64) (recipe.Recipe, error) {
	r := recipe.Default(s, f.features, f.model, epsilon)
	err := f.training.set(cmd, s, &r)
	return r, err
}

func runDPSGD(cmd *cobra.Command, g *shell.Globals, f dpsgdFlags) error {
	targets, err := f.check(cmd)
	if err != nil {
		return shell.UsageError("dpsgd", err)
	}
	typical, err := f.typical.Read(cmd)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := shell.CheckFolder(g, cmd, f.out); err != nil {
			return err
		}
	}
	task, schema, err := f.task(g)
	if err != nil {
		return err
	}
	cfg := recipe.Config{Task: task, Delta: g.Delta, Seeds: f.seeds, Unit: shell.UnitWord(f.unitName, f.data.Unit), RowsPerUnit: f.own.rows,
		Records: f.own.size, Rows: schema, Workers: f.workers, Typical: typical}
	shape := cfg.Shape()
	if !f.noCache {
		cfg.Cache = shell.FeatureCache(func(text string) { g.Logf("%s", text) })
	}
	budget := 0.0
	if f.ledger != "" {
		epsilon := 0.0
		if len(targets) > 0 {
			epsilon = targets[0]
		}
		if cfg.Shared, err = g.ModelLedger(cmd, "dpsgd", f.ledger, f.mode, cfg.Unit, epsilon, task.Waived()); err != nil {
			return err
		}
		cfg.Delta, budget = cfg.Shared.Account.Delta, cfg.Shared.Account.Epsilon
	}
	if cfg.Plans, err = f.plans(cmd, shape, targets, budget); err != nil {
		return shell.UsageError("dpsgd", err)
	}
	if err := shell.CheckDelta(cfg.Delta, shape.Records, "private records"); err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return shell.UsageError("dpsgd", err)
	}
	if schema == nil {
		shell.ReadTaskAloud(g, task)
	}
	f.own.sayUnits(g, cfg)
	if f.ledger != "" {
		begun, err := durable.Exists(results.Folder(f.out).Config())
		if err == nil && !begun {
			err = cfg.TryLedger(cmd.Context())
		}
		if err != nil {
			return shell.TrainingError(err)
		}
	}
	return shell.TrainingError(f.runIn(cmd.Context(), g, cfg, f.command(cmd)))
}

// command returns the command line that repeats the run.
func (f *dpsgdFlags) command(cmd *cobra.Command) string {
	words := []string{"pate dpsgd"}
	if f.own.private != "" {
		words = append(words, shell.ShellWord(f.own.private))
	}
	return shell.Repeats(cmd, words, f.flagNames(), shell.Given, nil)
}

// flagNames returns the flags of which the outcome is a function.
func (f *dpsgdFlags) flagNames() []string {
	return slices.Concat(slices.Insert(f.data.Names(), 3, "unit-name"), ownNames(), []string{"epsilon", "noise-multiplier",
		"no-privacy", "delta", "features", "model"}, f.training.names(), []string{"seeds", "ledger", "mode", "spend"}, shell.TypicalNames(),
		[]string{"seed"})
}
