package plan

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/regime"
	"github.com/pate-go/pate/internal/table"
)

const schemaRegime = "pate.regime/1"

// regimeReport is the JSON of `pate plan regime`.
type regimeReport struct {
	Schema            string         `json:"schema"`
	Teachers          int            `json:"teachers"`
	Classes           int            `json:"classes"`
	Queries           int            `json:"queries"`
	Epsilon           float64        `json:"epsilon"`
	Delta             float64        `json:"delta"`
	Gap               int            `json:"gap"`
	Unstable          int            `json:"unstable"`
	Success           float64        `json:"success"`
	Winner            string         `json:"winner"`
	StabilityLoses    bool           `json:"stability_loses"`
	StabilityWinsFrom *int           `json:"stability_wins_from,omitempty"` // queries, at the same number of unstable answers
	Methods           []regimeMethod `json:"methods"`                       // smallest gap needed first
}

type regimeMethod struct {
	Mechanism  string            `json:"mechanism"`
	Stability  bool              `json:"stability"`
	GapNeeded  float64           `json:"gap_needed"`
	Feasible   bool              `json:"feasible"` // not more than all teachers
	AtGap      float64           `json:"at_gap"`
	Noise      float64           `json:"noise"`
	Epsilon    float64           `json:"epsilon"`
	Accountant accountant.Method `json:"accountant"` // that proves it
}

func newRegimeCommand(g *shell.Globals) *cobra.Command {
	var r regime.Regime
	cmd := &cobra.Command{
		Use: "regime",
		Args: shell.Wants(cobra.NoArgs, func(cmd *cobra.Command, _ []string) []string {
			return shell.Unset(cmd, "teachers", "classes", "queries", "epsilon")
		}),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.Delta = g.Delta
			return runRegime(cmd, g, r)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&r.Teachers, "teachers", 0, "number of teachers (required)")
	flags.IntVar(&r.Classes, "classes", 0, "number of classes (required)")
	flags.IntVar(&r.Queries, "queries", 0, "number of queries (required)")
	flags.Float64Var(&r.Epsilon, "epsilon", 0, "the budget of all queries (required)")
	flags.IntVar(&r.Gap, "gap", 0, "votes you expect between the two largest counts")
	flags.IntVar(&r.Unstable, "unstable", 0, "failures a stability method survives (default 5 % of the queries)")
	flags.Float64Var(&r.Success, "success", 0.95, "how likely a query must be answered right")
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
	report := regimeReport{Schema: schemaRegime, Teachers: r.Teachers, Classes: r.Classes, Queries: r.Queries, Epsilon: r.Epsilon, Delta: r.Delta,
		Gap: r.Gap, Unstable: r.Unstable, Success: r.Success, Winner: advice.Winner().Mechanism, StabilityLoses: advice.StabilityLoses()}
	for _, m := range advice.Methods {
		report.Methods = append(report.Methods, regimeMethod{Mechanism: m.Mechanism, Stability: m.Stability, GapNeeded: m.GapNeeded,
			Feasible: advice.Feasible(m), AtGap: m.AtGap, Noise: m.Noise, Epsilon: m.Epsilon, Accountant: m.By})
	}
	if report.StabilityLoses {
		from, err := regime.StabilityWinsFrom(cmd.Context(), r)
		if err != nil {
			return err
		}
		if from > 0 {
			report.StabilityWinsFrom = &from
		}
	}
	err = g.Print(report, func(f table.Format) table.Table {
		t := table.Table{
			Header: []string{"mechanism", "needs gap", "feasible", fmt.Sprintf("right at %d", r.Gap), "noise", "epsilon", "by"},
			Left:   []bool{true, false, true, false, false, false, true},
		}
		exact := f == table.CSV
		for _, m := range report.Methods {
			t.Rows = append(t.Rows, []string{m.Mechanism, formatGap(m.GapNeeded, exact), shell.YesNo(m.Feasible), formatShare(m.AtGap, exact),
				shell.FormatUp(m.Noise, exact), shell.FormatEpsilon(m.Epsilon, exact), string(m.Accountant)})
		}
		return t
	})
	if format := g.ParsedFormat(); format == table.Text || format == table.Markdown {
		fmt.Fprintf(g.Stdout, "\n%s\n", report.words())
	}
	return err
}

// words names the winner and its margin.
func (r regimeReport) words() string {
	best := r.Methods[0]
	text := fmt.Sprintf("%s needs the smallest gap, %s votes.", best.Mechanism, formatGap(best.GapNeeded, false))
	if !best.Feasible {
		text += fmt.Sprintf(" %d teachers cannot produce it:\nask fewer queries, spend more, or have more teachers.", r.Teachers)
	}
	if !r.StabilityLoses {
		return text + fmt.Sprintf("\nStability wins here if at most %d answers are unstable or fail by chance.", r.Unstable)
	}
	for _, m := range r.Methods {
		if m.Stability {
			text += fmt.Sprintf("\nStability loses here: the best of its methods, %s, needs %s votes.", m.Mechanism, formatGap(m.GapNeeded, false))
			break
		}
	}
	if r.StabilityWinsFrom != nil {
		text += fmt.Sprintf("\nWith at most %d unstable answers it would win from about %d queries on.", r.Unstable, *r.StabilityWinsFrom)
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
