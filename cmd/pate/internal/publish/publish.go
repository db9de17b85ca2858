// Package publish implements the command `pate publish`. The command releases either labels and a student, or
// a DP-SGD model.
package publish

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/publish"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/run"
)

type publishFlags struct {
	shell.PairFlags
	epsilon, accuracy, least           float64
	asked                              float64 // least, 0 if it was not given
	out, method, learner, pool, ranges string
	group                              string
	teachers, size, rows               int
	destroy                            bool
}

func (f *publishFlags) drawn() bool { return f.pool != publish.PoolRows }

func New(g *shell.Globals) *cobra.Command {
	f := publishFlags{least: publish.DefaultAccuracy}
	cmd := shell.Command("publish PRIVATE --public PUBLIC --epsilon E --out DIR", "",
		shell.Wants(cobra.ExactArgs(1), func(cmd *cobra.Command, _ []string) []string {
			if f.drawn() {
				return shell.Unset(cmd, "epsilon", "out")
			}
			return shell.Unset(cmd, "public", "epsilon", "out")
		}), func(cmd *cobra.Command, args []string) error { return f.run(cmd, g, args[0]) })
	f.Add(cmd.Flags())
	f.Complete(cmd)
	shell.Declare(cmd.Flags(), "publish", shell.To{"epsilon": &f.epsilon, "out": &f.out, "method": &f.method, "teachers": &f.teachers,
		"size": &f.size, "rows-per-unit": &f.rows, "learner": &f.learner, "pool": &f.pool, "ranges": &f.ranges,
		"teacher-accuracy": &f.accuracy, "min-accuracy": &f.least, "destroy-private": &f.destroy, "group": &f.group})
	return cmd
}

func (f *publishFlags) check(g *shell.Globals, given func(string) bool, private string) error {
	drawn := f.drawn()
	if given("min-accuracy") {
		f.asked = f.least
	}
	f.method = publish.Settings{Method: f.method, Pool: f.pool, Teachers: f.teachers, Learner: f.learner,
		TeacherAccuracy: f.accuracy, MinAccuracy: f.asked}.Implied()
	pate := f.method == publish.PATE
	rules := []error{
		shell.If(drawn && f.Public != "", "--pool %s is for publishing without public rows: omit --public", f.pool),
		shell.If(drawn && f.method == publish.DPSGD, "--method dpsgd needs --public, but --pool %s is for publishing without public rows: "+
			"use another method", f.pool),
		shell.If(drawn && f.ranges == "", "--pool %s needs --ranges FILE, a line like age,17..90 or sex,Female,Male for each column: "+
			"the values of a column must be declared, because private rows may not reveal them", f.pool),
		shell.If(drawn && f.group != "", "--group needs --public: accuracy by group is measured on public rows"),
		shell.If(!drawn && f.ranges != "", "--ranges %s needs --pool %s, %s or %s", f.ranges, publish.PoolNone, publish.PoolMarginals,
			publish.PoolTree),
		shell.Positive(true, "epsilon", f.epsilon),
		shell.If(!pate && f.size == 0, "--method %s needs --size N, the approximate number of units in PRIVATE; "+
			"noise and sampling are computed from N, which becomes public; --method pate needs no --size%s", f.method,
			map[bool]string{true: "; if the rows of PUBLIC have no labels, also give --class-names"}[!given("class-names") && !given("classes")]),
		shell.If(f.method != publish.DPSGD && given("rows-per-unit"),
			"--rows-per-unit needs --method dpsgd; other methods use all rows of a unit"),
		shell.If(!(f.accuracy >= 0 && f.accuracy < 1) || !(f.least > 0 && f.least < 1),
			"--teacher-accuracy must be in [0, 1), and --min-accuracy must be in (0, 1)"),
		shell.CheckTeachers(given, f.teachers, f.size),
	}
	if !pate {
		for _, name := range []string{"teachers", "learner", "teacher-accuracy", "min-accuracy"} {
			rules = append(rules, shell.If(given(name), "--%s does not apply to --method %s, which has no teachers", name, f.method))
		}
		rules = append(rules, shell.CheckUnits(given, f.size, f.rows))
	}
	if err := shell.Refuse("train", rules...); err != nil {
		return err
	}
	g.DefaultDelta(given, f.size, "")
	if err := (publish.Settings{Method: f.method, Teachers: f.teachers, Size: f.size}).Units().Check(g.Delta); err != nil {
		return shell.FaultError(err, "privacy")
	}
	return f.CheckApart(private)
}

func (f *publishFlags) run(cmd *cobra.Command, g *shell.Globals, private string) error {
	defer shell.CollectAt(30)() // most of the memory is one matrix; a third more is enough
	if err := f.check(g, cmd.Flags().Changed, private); err != nil {
		return err
	}
	reading, err := f.Reading(g)
	if err != nil {
		return err
	}
	if err := shell.CheckFolder(g, cmd, f.out); err != nil {
		return err
	}
	bar := shell.NewProgress(g)
	c := publish.Config{
		Settings: publish.Settings{
			Private: f.PrivateSource(private), Public: f.PublicSource(), Reading: reading, Epsilon: f.epsilon, Delta: g.Delta,
			Unit: f.UnitWord(), Method: f.method, Size: f.size, RowsPerUnit: f.rows, Teachers: f.teachers, Learner: f.learner,
			TeacherAccuracy: f.accuracy, MinAccuracy: f.asked, Pool: f.pool, Ranges: f.ranges, Group: f.group,
		},
		Out: f.out, DestroySecrets: f.destroy, Cache: shell.FeatureCache(bar.Say), Spare: shell.SpareMemory,
		Progress: bar.Update, Say: bar.Say, Warn: bar.Warn, Columns: bar.ReadAloud,
	}
	shell.Put(g.Seeded, &c.Seed, &g.Seed)
	if c.Command, err = f.command(cmd, g, private); err != nil {
		return err
	}
	r, err := publish.Run(cmd.Context(), c)
	bar.Clear()
	if err != nil {
		return f.inWords(err)
	}
	return shell.PrintFolder(g, f.out, func() error { return print(g, r) })
}

func (f *publishFlags) command(cmd *cobra.Command, g *shell.Globals, private string) (string, error) {
	values := map[string]string{"epsilon": fmt.Sprint(f.epsilon), "delta": fmt.Sprint(g.Delta), "seed": ""}
	if g.Seeded {
		values["seed"] = fmt.Sprint(g.Seed)
	}
	for _, name := range []string{"public", "labels", "units", "public-labels", "embeddings", "public-embeddings", "ranges", "out"} {
		if path := cmd.Flag(name).Value.String(); path != "" {
			whole, err := filepath.Abs(path)
			if err != nil {
				return "", err
			}
			values[name] = shell.ShellWord(whole)
		}
	}
	private, err := filepath.Abs(private)
	return shell.Repeats(cmd, []string{"pate publish", shell.ShellWord(private)}, append(f.Names(), "method", "teachers", "size",
		"rows-per-unit", "learner", "group",
		"pool", "ranges", "teacher-accuracy", "min-accuracy", "epsilon", "delta", "seed", "out"), shell.Differs, values), err
}

func (f *publishFlags) inWords(err error) error {
	var none *plan.NoPlanError
	switch {
	case errors.As(err, &none):
		return &shell.CommandError{Code: shell.ExitOverBudget,
			What: fmt.Errorf("no labels would be right %.0f %% of the time within epsilon %g", 100*none.Goal.MinAccuracy, none.Goal.Epsilon),
			Why:  "nothing was charged", Fix: remedy(none), Topic: "mechanisms"}
	case errors.Is(err, run.ErrOtherRun): // shell.Explain has the text for it
		return err
	case errors.Is(err, recipe.ErrConfig):
		return shell.UsageError("dpsgd", err)
	case errors.Is(err, results.ErrReleased):
		return shell.FaultError(err, "ledger")
	case f.method == publish.DPSGD || f.method == publish.Auto:
		err = shell.TrainingError(err)
	}
	return shell.FaultError(err, "data")
}

func remedy(none *plan.NoPlanError) string {
	fix := "train more teachers, or raise --epsilon"
	if none.Teachers > 0 {
		fix = fmt.Sprintf("train %d teachers as accurate as these, or raise --epsilon", none.Teachers)
	}
	if none.Epsilon > 0 && !math.IsInf(none.Epsilon, 1) {
		fix += " to " + number.DigitsUp(none.Epsilon, 3)
	}
	return fix + "; if public data show that your teachers are more accurate, declare it as --teacher-accuracy"
}

func print(g *shell.Globals, r *publish.Report) error {
	err := g.Print(r, func(f table.Format) table.Table { return tableOf(r, f) })
	if err != nil || g.ParsedFormat() != table.Text {
		return err
	}
	if r.Student != "" {
		fmt.Fprint(g.Stdout, "\n", shell.Wrapped("student: "+r.Student), "\n")
	}
	if r.Released == 0 {
		return &shell.CommandError{Code: shell.ExitAllDeclined, What: errors.New("every query was declined"),
			Why: "the teachers never agreed clearly enough for this noise, so there is no student; the budget is spent",
			Fix: "raise --epsilon with another --out, or use more private rows", Topic: "mechanisms"}
	}
	return nil
}

func tableOf(r *publish.Report, f table.Format) table.Table {
	if t := r.Training; t != nil {
		return table.Table{Header: []string{r.Unit + "s", "steps", "noise", "labels", "epsilon"}, Rows: [][]string{{strconv.Itoa(t.Records),
			strconv.Itoa(t.Steps), fmt.Sprintf("%.4g", t.Noise), strconv.Itoa(r.Released), shell.FormatUp(r.Epsilon, false)}}}
	}
	t := shell.TableOf("teachers", "asked", "labels", "predicts % of labels held back", "always one class %", "epsilon")
	if r.Units > 0 {
		t.Header[0] = r.Unit + "s"
	}
	t.Rows = [][]string{{strconv.Itoa(r.Units + r.Teachers), strconv.Itoa(r.Asked), strconv.Itoa(r.Released), r.Held.Percent(),
		r.Held.Constant(r.Released),
		shell.FormatUp(r.Epsilon, false)}}
	if f != table.Text {
		t.Header, t.Rows[0], t.Left = append(t.Header, "student"), append(t.Rows[0], r.Student), append(t.Left, true)
	}
	return t
}
