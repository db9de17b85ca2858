// Package tune is the command `pate tune`: one private model, its hyper-parameters chosen
// under the same budget.
package tune

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/dpsgd/tuned"
)

// flags are the flags of `pate tune`. A zero default is the recipe's own.
type flags struct {
	data     shell.DataFlags
	unitName string
	size     int
	epsilon  float64
	law      string
	runs     float64

	features string
	model    string
	steps    int
	batch    float64
	settings settingFlags

	score      string
	scoreShare float64
	scoreNoise float64
	constant   time.Duration

	plan    bool
	workers int
	noCache bool
	out     string
	ledger  string
	mode    string
	spend   float64
}

// New returns the command.
func New(g *shell.Globals) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:  "tune",
		Args: noStudents,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, g) },
	}
	flags := cmd.Flags()
	f.data.Add(flags)
	flags.StringVar(&f.unitName, "unit-name", "", "what a unit is called, in ledgers too (default: the name of that column, or record)")
	flags.IntVar(&f.size, "size", 0, "about how many units are private; as you may say in public: sampling and noise follow from it "+
		"(default: their number, which is then public)")
	flags.Float64Var(&f.epsilon, "epsilon", usualEpsilon, "what the model and its choice may cost together; with --ledger, the budget of a new one")
	flags.StringVar(&f.law, "law", "logarithmic", "law of the number of runs; logarithmic, geometric, poisson, or negative-binomial:ETA "+
		"with ETA above -1 and at most 1")
	flags.Float64Var(&f.runs, "runs", 0, "how many runs are expected (default: as many as settings)")
	flags.StringVar(&f.features, "features", "", "features of images; "+strings.Join(recipe.FeatureSets(), ", ")+" (default: by the data)")
	flags.StringVar(&f.model, "model", "", strings.Join(recipe.Models(), ", ")+" (default: linear)")
	flags.IntVar(&f.steps, "steps", 0, "number of updates of every run")
	flags.Float64Var(&f.batch, "batch", 0, "expected number of records in a batch of every run")
	f.settings.add(flags)
	flags.StringVar(&f.score, "score", "public", "whose rows choose: public, those of the pool; private, a part of the private ones, with "+
		"noise that is charged")
	flags.Float64Var(&f.scoreShare, "score-share", 0, "with --score private: the share of the private units that choose (default 0.2)")
	flags.Float64Var(&f.scoreNoise, "score-noise", 0, "with --score private: σ of the noise on the number of right answers (default: by the "+
		"number of records)")
	flags.DurationVar(&f.constant, "constant-time", 0, "end only at multiples of this time, such as 30m, longer than the search is likely to take")
	flags.BoolVar(&f.plan, "plan", false, "say what the choice costs, and spend nothing")
	flags.IntVar(&f.workers, "workers", 0, "goroutines (default: as many as processors); the model does not depend on it")
	flags.BoolVar(&f.noCache, "no-cache", false, "compute features of images anew and keep none")
	flags.StringVar(&f.out, "out", "", "folder of model, results and ledger; what may be published lies in its folder public, all else in private")
	flags.StringVar(&f.ledger, "ledger", "", "charge this ledger; made if it is not there, instead of one of the run's own")
	flags.StringVar(&f.mode, "mode", "filter", "of a new --ledger: filter or reserved; others may charge a filter later, reserved is for "+
		"this model alone")
	flags.Float64Var(&f.spend, "spend", 0, "with --ledger: what the search may cost, instead of all that is left")
	f.data.Complete(cmd)
	f.settings.complete(cmd)
	shell.Complete(cmd, map[string]shell.Values{
		"unit-name": shell.Suggested("record", "patient", "user"), "law": shell.Suggested("poisson", "geometric", "logarithmic",
			"negative-binomial:0.5"),
		"features": shell.Words(recipe.FeatureSets()...), "model": shell.Suggested(recipe.Linear, "mlp:64", recipe.CNN),
		"score": shell.Words("public", "private"), "constant-time": shell.Suggested("10m", "1h"), "out": shell.Folder(),
		"ledger": shell.Files("jsonl"), "mode": shell.Words("filter", "reserved"),
	})
	return cmd
}

// noStudents takes no arguments, and points to the command that chooses students.
func noStudents(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || args[0] != "student" {
		return cobra.NoArgs(cmd, args)
	}
	return &shell.CommandError{Code: shell.ExitUsage, What: errors.New("students are not tuned at a charge"),
		Why: "a choice on released labels is computed from what was released, and costs nothing; private rows that score would be one more release",
		Fix: "pate student PUBLIC --labels LABELS --out MODEL compares kinds by cross-validation", Topic: "tune"}
}

// usualEpsilon is the target where none is given.
const usualEpsilon = 2

// check refuses flags that do not go together.
func (f *flags) check(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	positive := func(name string, x float64) error {
		if given(name) && !(x > 0 && x <= math.MaxFloat64) {
			return fmt.Errorf("--%s %v: must be a finite number above 0", name, x)
		}
		return nil
	}
	if err := errors.Join(positive("epsilon", f.epsilon), positive("runs", f.runs), positive("batch", f.batch), positive("spend", f.spend),
		positive("score-share", f.scoreShare), positive("score-noise", f.scoreNoise), positive("steps", float64(f.steps)),
		positive("constant-time", f.constant.Seconds())); err != nil {
		return err
	}
	if err := shell.CheckUnits(given, f.size, 1); err != nil {
		return err
	}
	switch {
	case f.score != "private" && (given("score-share") || given("score-noise")):
		return errors.New("--score-share and --score-noise are for --score private; public rows need no noise")
	case f.ledger == "" && (given("spend") || given("mode")):
		return errors.New("--spend and --mode are for --ledger; without it the search costs --epsilon")
	case f.plan && f.ledger != "":
		return errors.New("--plan reads no ledger: give as --epsilon what the search may cost")
	case f.plan && f.out != "":
		return errors.New("--plan writes nothing: leave out --out")
	case !f.plan && f.out == "":
		return errors.New("--out is missing: what is charged must not be lost (or look first with --plan)")
	}
	return nil
}

// base returns the recipe that settings change.
func (f *flags) base(s recipe.Shape, epsilon float64) recipe.Recipe {
	r := recipe.Default(s, f.features, f.model, epsilon)
	if f.steps > 0 {
		r.Train.Steps = f.steps
	}
	if f.batch > 0 {
		r.Train.SamplingProbability = math.Min(1, f.batch/float64(s.Records))
	}
	return r
}

// private returns how private rows choose; nil if they do not.
func (f *flags) private(records int) *tuned.Private {
	if f.score != "private" {
		return nil
	}
	p := tuned.DefaultPrivate(records)
	if f.scoreShare != 0 {
		p = tuned.DefaultPrivate(int(float64(records) * f.scoreShare / p.Share))
		p.Share = f.scoreShare
	}
	if f.scoreNoise != 0 {
		p.Sigma = f.scoreNoise
	}
	return p
}

// names returns the flags of which the outcome is a function.
func (f *flags) names() []string {
	return slices.Concat(slices.Insert(f.data.Names(), 3, "unit-name"), []string{"size", "epsilon", "delta", "law", "runs", "features",
		"model", "steps", "batch"},
		f.settings.names(), []string{"score", "score-share", "score-noise", "constant-time", "ledger", "mode", "spend", "seed"})
}

// command returns the command line that repeats the run.
func (f *flags) command(cmd *cobra.Command) string {
	return shell.Repeats(cmd, []string{"pate tune"}, f.names(), shell.Given, nil)
}
