package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/regime"
	"github.com/pate-go/pate/internal/table"
)

func newRegimeCommand(g *shell.Globals) *cobra.Command {
	var r regime.Regime
	cmd := &cobra.Command{
		Use:  "regime",
		Args: shell.Needs(cobra.NoArgs, "teachers", "classes", "queries", "epsilon"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.Delta = g.Delta
			return runRegime(cmd, g, r)
		},
	}
	shell.Declare(cmd.Flags(), "regime", shell.To{"teachers": &r.Teachers, "classes": &r.Classes, "queries": &r.Queries,
		"epsilon": &r.Epsilon, "gap": &r.Gap, "unstable": &r.Unstable, "success": &r.Success})
	shell.Without(cmd, "seed")
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
	from := 0 // queries, at the same number of unstable answers
	if advice.StabilityLoses() {
		if from, err = regime.StabilityWinsFrom(cmd.Context(), r); err != nil {
			return err
		}
	}
	var methods []shell.Object // smallest gap needed first
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
				formatShare(m.AtGap, exact), shell.FormatUp(m.Noise, exact), shell.FormatEpsilon(m.Epsilon, exact), string(m.By)})
		}
		return t
	})
	if g.Prose() {
		fmt.Fprintf(g.Stdout, "\n%s\n", words(advice, from))
	}
	return err
}

// words names the winner and its margin.
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

// formatGap prints votes, rounded up to a tenth.
func formatGap(x float64, exact bool) string {
	if exact {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(math.Ceil(x*10-1e-9)/10, 'f', -1, 64)
}
