package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/regime"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
)

type planTableFlags struct {
	planFlags
	epsilons []float64
	labels   string
}

func newPlanTableCommand(g *shell.Globals) *cobra.Command {
	f := planTableFlags{epsilons: []float64{1, 2, 4}}
	cmd := shell.Command("table [VOTES...]", "", cobra.ArbitraryArgs,
		func(cmd *cobra.Command, args []string) error { return runPlanTable(cmd, g, f, args) })
	f.AddShape(cmd)
	f.AddAgreement(cmd)
	shell.Declare(cmd.Flags(), "plan table", shell.To{"epsilon": &f.epsilons, "queries": &f.queries,
		"simulate-accuracy": &f.Accuracy,
		"min-accuracy":      &f.minAccuracy, "accountant": &f.accountant, "labels": &f.labels})
	return cmd
}

func runPlanTable(cmd *cobra.Command, g *shell.Globals, f planTableFlags, args []string) error {
	if err := f.check(cmd, args); err != nil {
		return err
	}
	by, err := accountant.ParseMethod(f.accountant)
	if err != nil {
		return err
	}
	examples, err := f.examples(cmd.Context(), g, args, 0)
	if err != nil {
		return err
	}
	if f.labels != "" {
		opt, err := f.Options()
		if err != nil {
			return err
		}
		opt.Classes = examples[0].Votes.Classes()
		if err := shell.RightLabels(cmd.Context(), f.labels, opt, examples, f.queries > 0); err != nil {
			return err
		}
	}
	summary, err := plan.Summarize(examples)
	if err != nil {
		return shell.InputError(err, "", "", "mechanisms")
	}
	var rows []row
	bar := shell.NewProgress(g)
	for i, epsilon := range f.epsilons {
		bar.Update("budgets", i, len(f.epsilons))
		outcomes, err := plan.Outcomes(cmd.Context(), examples, plan.Goal{Epsilon: epsilon, Delta: g.Delta, MinAccuracy: f.minAccuracy,
			Accountant: by})
		if err != nil {
			bar.Clear()
			return err
		}
		for _, o := range outcomes {
			rows = append(rows, row{epsilon, o})
		}
	}
	bar.Clear()
	return f.write(g, f.source(summary, args), rows)
}

func (f *planTableFlags) check(cmd *cobra.Command, args []string) error {
	if err := f.checkVotes(cmd, args, "pate plan table needs a votes file, or --simulate-accuracy for synthetic votes",
		shell.If(f.labels != "" && len(args) == 0, "--labels needs a votes file"),
		shell.If(len(f.epsilons) == 0, "--epsilon: at least one budget is required")); err != nil {
		return err
	}
	for _, epsilon := range f.epsilons {
		if !(epsilon > 0) || math.IsInf(epsilon, 1) {
			return shell.Usagef("mechanisms", "--epsilon %v: every value must be a finite number above 0", epsilon)
		}
	}
	return nil
}

type row struct {
	target float64
	plan.Outcome
}

func (f *planTableFlags) write(g *shell.Globals, votes source, rows []row) error {
	votes.report(g, f.labels != "")
	format := g.ParsedFormat()
	exact := format == table.CSV
	t := shell.TableOf("budget", "<mechanism", "noise", "failures", "asked", "released", "right", "share", "eps", "<by")
	if exact {
		t = shell.TableOf("target_epsilon", "<mechanism", "noise", "failures", "expected_asked", "expected_released", "expected_right",
			"accuracy", "epsilon", "<accountant")
	}
	var list []shell.Object
	for _, o := range rows {
		list = append(list, shell.Object{"target_epsilon", o.target, "mechanism", o.Mechanism, "stability", o.Stability,
			"noise", o.Noise,
			"failures?", o.Failures, "expected_asked", o.Asked, "expected_released", o.Released, "expected_right", o.Right,
			"accuracy", o.Accuracy(), "epsilon", o.Epsilon, "accountant", o.By, "approximate?", o.Approximate})
		failures, share := "", shell.Fixed(o.Accuracy(), 3, exact)
		if o.Failures > 0 {
			failures = strconv.Itoa(o.Failures)
		}
		if !exact && o.Released < 0.05 { // would print as zero
			share = ""
		}
		t.Rows = append(t.Rows, []string{number.Exact(o.target), o.Mechanism, shell.FormatUp(o.Noise, exact), failures,
			shell.FormatExpected(o.Asked, exact), shell.FormatExpected(o.Released, exact), shell.FormatExpected(o.Right, exact), share,
			shell.FormatEpsilon(o.Epsilon, exact), string(o.By)})
	}
	err := g.Print(votes.object(g, "pate.plan_table/1", 0, "rows", list), func(table.Format) table.Table { return t })
	if err == nil && format != table.JSON {
		votes.warn(g)
	}
	return err
}

func newRegimeCommand(g *shell.Globals) *cobra.Command {
	var r regime.Regime
	cmd := shell.Command("regime", "seed", shell.Needs(cobra.NoArgs, "teachers", "classes", "queries", "epsilon"),
		func(cmd *cobra.Command, _ []string) error {
			r.Delta = g.Delta
			return runRegime(cmd, g, r)
		})
	shell.Declare(cmd.Flags(), "regime", shell.To{"teachers": &r.Teachers, "classes": &r.Classes, "queries": &r.Queries,
		"epsilon": &r.Epsilon, "gap": &r.Gap, "unstable": &r.Unstable, "success": &r.Success})
	return cmd
}

func runRegime(cmd *cobra.Command, g *shell.Globals, r regime.Regime) error {
	if err := shell.CheckDelta(r.Delta, r.Teachers, "teachers"); err != nil {
		return err
	}
	advice, err := regime.Advise(cmd.Context(), r)
	if err != nil {
		return shell.InputError(err, "", "see pate plan regime --help", "mechanisms")
	}
	r = advice.Regime
	from := 0 // number of queries with the same number of unstable answers
	if advice.StabilityLoses() {
		if from, err = regime.StabilityWinsFrom(cmd.Context(), r); err != nil {
			return err
		}
	}
	var methods []shell.Object // in order of the gap they need
	for _, m := range advice.Methods {
		methods = append(methods, shell.Object{"mechanism", m.Mechanism, "stability", m.Stability, "gap_needed", m.GapNeeded,
			"feasible", advice.Feasible(m), "at_gap", m.AtGap, "noise", m.Noise, "epsilon", m.Epsilon, "accountant", m.By})
	}
	report := shell.Object{"schema", "pate.regime/1", "teachers", r.Teachers, "classes", r.Classes, "queries", r.Queries,
		"epsilon", r.Epsilon, "delta", r.Delta, "gap", r.Gap, "unstable", r.Unstable, "success", r.Success,
		"winner", advice.Winner().Mechanism, "stability_loses", advice.StabilityLoses(), "stability_wins_from?", max(from, 0),
		"methods", methods}
	err = g.Print(report, func(f table.Format) table.Table {
		t := shell.TableOf("<mechanism", "needs gap", "<feasible", fmt.Sprintf("right at %d", r.Gap), "noise", "epsilon", "<by")
		exact := f == table.CSV
		for _, m := range advice.Methods {
			t.Rows = append(t.Rows, []string{m.Mechanism, formatGap(m.GapNeeded, exact), shell.YesNo(advice.Feasible(m)),
				shell.Fixed(m.AtGap, 3, exact), shell.FormatUp(m.Noise, exact), shell.FormatEpsilon(m.Epsilon, exact), string(m.By)})
		}
		return t
	})
	if g.Prose() {
		fmt.Fprintf(g.Stdout, "\n%s\n", words(advice, from))
	}
	return err
}

func words(a regime.Advice, from int) string {
	best, r := a.Winner(), a.Regime
	text := fmt.Sprintf("%s needs the smallest gap, %s votes.", best.Mechanism, formatGap(best.GapNeeded, false))
	if !a.Feasible(best) {
		text += fmt.Sprintf(" %d teachers cannot produce it:\nask fewer queries, spend more, or have more teachers.", r.Teachers)
	}
	if !a.StabilityLoses() {
		return text + fmt.Sprintf("\nStability wins here if at most %d answers are unstable or fail by chance.", r.Unstable)
	}
	if i := slices.IndexFunc(a.Methods, func(m regime.Method) bool { return m.Stability }); i >= 0 {
		m := a.Methods[i]
		text += fmt.Sprintf("\nStability loses here: the best of its methods, %s, needs %s votes.", m.Mechanism,
			formatGap(m.GapNeeded, false))
	}
	if from > 0 {
		text += fmt.Sprintf("\nWith at most %d unstable answers it would win from about %d queries on.", r.Unstable, from)
	}
	return text
}

func formatGap(x float64, exact bool) string {
	if exact {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(math.Ceil(x*10-1e-9)/10, 'f', -1, 64)
}
