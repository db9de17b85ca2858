// Package dpsgd has the commands `pate dpsgd` and `pate dpsgd tune`, which train one private model.
package dpsgd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/run"
)

type modelFlags struct {
	data                      shell.DataFlags
	unitName, features, model string
	size, workers             int
	noCache                   bool
	out, ledger, mode         string
	spend                     float64
}

func (f *modelFlags) add(flags *pflag.FlagSet) {
	f.data.Add(flags)
	shell.Declare(flags, "units", shell.To{"size": &f.size})
	shell.Declare(flags, "dpsgd", shell.To{
		"unit-name": &f.unitName, "features": &f.features, "model": &f.model, "workers": &f.workers, "no-cache": &f.noCache,
		"out": &f.out, "ledger": &f.ledger, "mode": &f.mode, "spend": &f.spend,
	})
}

func (f *modelFlags) cache(g *shell.Globals) *features.Cache {
	if f.noCache {
		return nil
	}
	return shell.FeatureCache(func(text string) { g.Logf("%s", text) })
}

type dpsgdFlags struct {
	modelFlags
	own      ownFlags
	training trainingFlags
	typical  shell.TypicalFlags
	epsilon  string
	noise    float64
	without  bool
	seeds    int
}

func New(g *shell.Globals) *cobra.Command {
	var f dpsgdFlags
	cmd := shell.Command("dpsgd [PRIVATE --public PUBLIC]", "", cobra.MaximumNArgs(1),
		func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.own.private = args[0]
			}
			return runDPSGD(cmd, g, f)
		})
	flags, own, training := cmd.Flags(), &f.own, &f.training
	f.add(flags)
	shell.Declare(flags, "units", shell.To{"rows-per-unit": &own.rows})
	f.typical.Add(cmd)
	shell.Declare(flags, "dpsgd", shell.To{
		"public": &own.public, "public-labels": &own.publicLabels, "accept-differences": &own.accept,
		"epsilon": &f.epsilon, "noise-multiplier": &f.noise, "no-privacy": &f.without, "seeds": &f.seeds,
		"statistics-noise": &training.statistics, "steps": &training.steps, "batch": &training.batch, "sampling": &training.sampling,
		"bands": &training.bands, "clip": &training.clip, "clipping": &training.clipping, "optimizer": &training.optimizer,
		"learning-rate": &training.learningRate, "schedule": &training.schedule, "warmup": &training.warmup,
		"momentum": &training.momentum, "weight-decay": &training.weightDecay, "ema": &training.ema, "augment": &training.views,
	})
	shell.CompleteArgs(cmd, shell.Files("csv", "jsonl", "tsv", "gz", "npy", "parquet"))
	cmd.AddCommand(newTune(g))
	return cmd
}

func (f *dpsgdFlags) check(cmd *cobra.Command) ([]float64, error) {
	given := cmd.Flags().Changed
	var targets []float64
	if given("epsilon") {
		var err error
		if targets, err = shell.Targets(f.epsilon); err != nil {
			return nil, err
		}
	}
	if err := f.own.check(given, f.size); err != nil {
		return nil, err
	}
	return targets, cmp.Or(
		shell.Positive(given("noise-multiplier"), "noise-multiplier", f.noise), shell.Positive(given("batch"), "batch", f.training.batch),
		shell.If(given("spend") && f.ledger == "", "--spend needs --ledger; without a ledger use --epsilon"),
		shell.Positive(given("spend"), "spend", f.spend),
		shell.If(given("spend") && given("noise-multiplier"), "give --spend or --noise-multiplier, not both: each determines the other"),
		shell.If(given("epsilon") && given("noise-multiplier") && f.ledger == "",
			"give --epsilon or --noise-multiplier, not both: each determines the other"),
		shell.If(f.without && (given("epsilon") || given("noise-multiplier") || f.ledger != ""),
			"--no-privacy cannot be combined with --epsilon, --noise-multiplier or --ledger"),
		shell.If(f.ledger != "" && len(targets) > 1, "with --ledger, --epsilon must be one number: the budget of the ledger"),
		shell.If(f.ledger != "" && f.out == "", "--ledger needs --out, because a model that costs budget must be saved"),
		shell.If(given("mode") && f.ledger == "", "--mode needs --ledger"),
	)
}

const (
	usualEpsilon    = 2 // default
	clipOnlyEpsilon = 8 // used for clipped gradients without noise
)

func (f *dpsgdFlags) plans(cmd *cobra.Command, s recipe.Shape, targets []float64, budget float64) ([]recipe.Plan, error) {
	plan := recipe.Plan{NoiseMultiplier: f.noise, NonPrivate: f.without, Epsilon: f.spend}
	one := func(epsilon float64) ([]recipe.Plan, error) {
		var err error
		plan.Recipe, err = f.recipe(cmd, s, epsilon)
		return []recipe.Plan{plan}, err
	}
	switch {
	case f.without && cmd.Flags().Changed("clip"): // clipping without noise
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
	task, schema, err := f.task(cmd, g)
	if err != nil {
		return err
	}
	cfg := recipe.Config{Task: task, Seeds: f.seeds, Unit: shell.UnitWord(f.unitName, f.data.Unit), RowsPerUnit: f.own.rows,
		Records: f.size, Rows: schema, Workers: f.workers, Typical: typical}
	shape := cfg.Shape()
	g.DefaultDelta(cmd.Flags().Changed, shape.Records, f.ledger)
	cfg.Delta = g.Delta
	cfg.Cache = f.cache(g)
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
		if err := shell.Fits(cmd.Context(), f.out, cfg.TryLedger); err != nil {
			return shell.TrainingError(err)
		}
	}
	return shell.TrainingError(f.runIn(cmd.Context(), g, cfg, f.command(cmd)))
}

func (f *dpsgdFlags) command(cmd *cobra.Command) string {
	words := []string{"pate dpsgd"}
	if f.own.private != "" {
		words = append(words, shell.ShellWord(f.own.private))
	}
	return shell.Repeats(cmd, words, f.flagNames(), shell.Given, nil)
}

func (f *dpsgdFlags) flagNames() []string {
	return slices.Concat(slices.Insert(f.data.Names(), 3, "unit-name"), strings.Fields(`public public-labels accept-differences size
		rows-per-unit epsilon noise-multiplier no-privacy delta features model statistics-noise steps batch sampling bands clip clipping
		optimizer learning-rate schedule warmup momentum weight-decay ema augment seeds ledger mode spend`), shell.TypicalNames(),
		[]string{"seed"})
}

type ownFlags struct {
	private              string // first argument
	public, publicLabels string
	accept               bool
	rows                 int
}

func (f *ownFlags) check(given func(string) bool, size int) error {
	if f.private == "" {
		for _, name := range []string{"public", "public-labels", "accept-differences"} {
			if given(name) {
				return fmt.Errorf("--%s needs PRIVATE, the file of private rows: pate dpsgd PRIVATE --public PUBLIC", name)
			}
		}
		return shell.CheckUnits(given, size, f.rows)
	}
	for _, name := range []string{"data", "split", "quick"} {
		if given(name) {
			return fmt.Errorf("--%s is for data without separate public files: omit this flag, or omit the private file %s", name, f.private)
		}
	}
	if f.public == "" {
		return errors.New("give --public: columns, scales and classes come from public rows, because taking them from private rows " +
			"would cost budget")
	}
	return shell.CheckUnits(given, size, f.rows)
}

func (f *dpsgdFlags) task(cmd *cobra.Command, g *shell.Globals) (dataset.Task, *dataset.Schema, error) {
	if err := f.data.DeltaGate(g, cmd, "private records", f.size); err != nil {
		return dataset.Task{}, nil, err
	}
	if f.own.private == "" {
		task, err := f.data.Task(g)
		return task, nil, err
	}
	pair := f.data.Pair(f.own.public, f.own.publicLabels, f.unitName, f.own.accept)
	task, schema, _, err := shell.PrivateTask(g, &pair, f.own.private, true)
	return task, schema, err
}

func (f *dpsgdFlags) where() (string, error) {
	if f.own.private == "" {
		return f.data.Where()
	}
	private, err := shell.WholePath(f.own.private)
	public, badPublic := shell.WholePath(f.own.public)
	text, bad := json.Marshal([]string{private, public})
	return string(text), cmp.Or(err, badPublic, bad)
}

func (f *ownFlags) sayUnits(g *shell.Globals, cfg recipe.Config) {
	if f.private != "" {
		shell.SayRecords(g, cfg)
	}
	if cfg.Task.Grouped {
		shell.SayRows(g, cfg)
	}
}

func (f *dpsgdFlags) runIn(ctx context.Context, g *shell.Globals, cfg recipe.Config, command string) error {
	data, err := f.where()
	if err != nil {
		return err
	}
	_, err = shell.FolderRun[*recipe.Result]{
		Id: g.CommandLine("dpsgd", data, command), Out: f.out, Kind: "dpsgd", Data: cfg.Task.Hash,
		Read: readDPSGD, Write: writeDPSGD, Print: printDPSGD,
		Run: func(folder run.Folder) (*recipe.Result, error) {
			bar := shell.NewProgress(g)
			defer bar.Clear()
			cfg.Key, cfg.Dir = folder.Key, folder.Path
			cfg.Progress = func(p recipe.Progress) {
				bar.Note("")
				if p.Epsilon > 0 {
					bar.Note(fmt.Sprintf("ε %.3g", p.Epsilon))
				}
				bar.Update(p.Stage, p.Done, p.Total)
			}
			defer shell.SpareMemory(cfg.Task)()
			return recipe.Run(ctx, cfg)
		},
	}.Do(ctx, g)
	return err
}
