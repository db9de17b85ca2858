// Package tune is the command `pate tune`: one private model, its hyper-parameters chosen
// under the same budget.
package tune

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/dpsgd/tuned"
)

// flags are the flags of `pate tune`. A zero default is the recipe's own.
type flags struct {
	data                   shell.DataFlags
	unitName, law          string
	size                   int
	epsilon, runs, spend   float64
	features, model        string
	steps, workers         int
	batch                  float64
	settings               settingFlags
	score                  string
	scoreShare, scoreNoise float64
	constant               time.Duration
	plan, noCache          bool
	out, ledger, mode      string
}

// New returns the command.
func New(g *shell.Globals) *cobra.Command {
	f := flags{settings: newSettingFlags()}
	cmd := &cobra.Command{
		Use:  "tune",
		Args: noStudents,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, g) },
	}
	f.data.Add(cmd.Flags())
	to := shell.To{"unit-name": &f.unitName, "size": &f.size, "epsilon": &f.epsilon, "law": &f.law, "runs": &f.runs,
		"features": &f.features, "model": &f.model, "steps": &f.steps, "batch": &f.batch, "settings": &f.settings.file,
		"score": &f.score, "score-share": &f.scoreShare, "score-noise": &f.scoreNoise, "constant-time": &f.constant, "plan": &f.plan,
		"workers": &f.workers, "no-cache": &f.noCache, "out": &f.out, "ledger": &f.ledger, "mode": &f.mode, "spend": &f.spend}
	for i := range f.settings.lists {
		to[f.settings.lists[i].flag] = &f.settings.lists[i].values
	}
	shell.Declare(cmd.Flags(), "tune", to)
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
	return cmp.Or(
		shell.If(f.score != "private" && (given("score-share") || given("score-noise")),
			"--score-share and --score-noise are for --score private; public rows need no noise"),
		shell.If(f.ledger == "" && (given("spend") || given("mode")),
			"--spend and --mode are for --ledger; without it the search costs --epsilon"),
		shell.If(f.plan && f.ledger != "", "--plan reads no ledger: give as --epsilon what the search may cost"),
		shell.If(f.plan && f.out != "", "--plan writes nothing: leave out --out"),
		shell.If(!f.plan && f.out == "", "--out is missing: what is charged must not be lost (or look first with --plan)"),
	)
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
