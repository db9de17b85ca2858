package plan

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/table"
)

const schemaPlanTable = "pate.plan_table/1"

// planTableReport is the JSON of `pate plan table`.
type planTableReport struct {
	Schema     string         `json:"schema"`
	Private    bool           `json:"private"` // made from real votes: itself a use of them
	Releasable bool           `json:"releasable"`
	Delta      float64        `json:"delta"`
	Votes      planVotes      `json:"votes"`
	Rows       []planTableRow `json:"rows"`
}

type planTableRow struct {
	TargetEpsilon float64           `json:"target_epsilon"`
	Mechanism     string            `json:"mechanism"`
	Stability     bool              `json:"stability"`
	Noise         float64           `json:"noise"`
	Failures      int               `json:"failures,omitempty"`
	Asked         float64           `json:"expected_asked"`
	Released      float64           `json:"expected_released"`
	Right         float64           `json:"expected_right"`
	Accuracy      float64           `json:"accuracy"`
	Epsilon       float64           `json:"epsilon"`
	Accountant    accountant.Method `json:"accountant"` // that proves it
	Approximate   bool              `json:"approximate,omitempty"`
}

type planTableFlags struct {
	planFlags
	epsilons []float64
	labels   string
}

func newPlanTableCommand(g *shell.Globals) *cobra.Command {
	var f planTableFlags
	cmd := &cobra.Command{
		Use:  "table [VOTES...]",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runPlanTable(cmd, g, f, args) },
	}
	f.AddShape(cmd)
	flags := cmd.Flags()
	flags.Float64SliceVar(&f.epsilons, "epsilon", []float64{1, 2, 4}, "the budgets, separated by commas")
	flags.IntVar(&f.queries, "queries", 0, "queries (default 1000 simulated, or all of VOTES)")
	f.addSimulation(cmd)
	flags.Float64Var(&f.minAccuracy, "min-accuracy", 0, "how often labels must be right; noisy argmax asks as few as it must")
	addAccountant(cmd, &f.accountant)
	flags.StringVar(&f.labels, "labels", "", "right class of each query; with VOTES, CSV or NPY with one column")
	shell.Complete(cmd, map[string]shell.Values{"labels": shell.Files("csv", "npy")})
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
	report := planTableReport{Schema: schemaPlanTable, Private: len(args) > 0 || f.CalibrateOn != "", Delta: g.Delta,
		Votes: newPlanVotes(summary, len(args) == 0)}
	report.Releasable = !report.Private && !g.Seeded
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
			report.Rows = append(report.Rows, planTableRow{TargetEpsilon: epsilon, Mechanism: o.Mechanism, Stability: o.Stability, Noise: o.Noise,
				Failures: o.Failures, Asked: o.Asked, Released: o.Released, Right: o.Right, Accuracy: o.Accuracy(), Epsilon: o.Epsilon,
				Accountant: o.By, Approximate: o.Approximate})
		}
	}
	bar.Clear()
	return writePlanTable(g, report, f.labels != "")
}

func (f *planTableFlags) check(cmd *cobra.Command, args []string) error {
	simulated := cmd.Flags().Changed("simulate-accuracy") || f.AgreementGiven(cmd)
	if err := f.CheckAgreement(cmd); err != nil {
		return err
	}
	switch {
	case len(args) == 0 && !simulated:
		return shell.UsageError("mechanisms", errors.New("a table of what? --simulate-accuracy for synthetic votes, or a votes file"))
	case len(args) > 0 && simulated:
		return shell.UsageError("mechanisms", errors.New("--simulate-accuracy or a votes file, not both"))
	case f.labels != "" && len(args) == 0:
		return shell.UsageError("mechanisms", errors.New("--labels are of a votes file"))
	case len(f.epsilons) == 0:
		return shell.UsageError("mechanisms", errors.New("--epsilon: at least one budget is required"))
	case f.queries < 0:
		return shell.UsageError("mechanisms", fmt.Errorf("--queries %d: must be at least 1", f.queries))
	case !(f.minAccuracy >= 0 && f.minAccuracy < 1):
		return shell.UsageError("mechanisms", fmt.Errorf("--min-accuracy %v: must be in [0, 1)", f.minAccuracy))
	}
	for _, epsilon := range f.epsilons {
		if !(epsilon > 0) || math.IsInf(epsilon, 1) {
			return shell.UsageError("mechanisms", fmt.Errorf("--epsilon %v: must be finite numbers above 0", epsilon))
		}
	}
	return nil
}

func writePlanTable(g *shell.Globals, r planTableReport, labelled bool) error {
	tellPlanVotes(g, r.Votes, labelled)
	format := g.ParsedFormat()
	if format == table.JSON {
		return shell.WriteJSON(g.Stdout, r)
	}
	exact := format == table.CSV
	t := table.Table{Header: []string{"budget", "mechanism", "noise", "failures", "asked", "released", "right", "share", "eps", "by"},
		Left: []bool{false, true, false, false, false, false, false, false, false, true}}
	if exact {
		t.Header = []string{"target_epsilon", "mechanism", "noise", "failures", "expected_asked", "expected_released", "expected_right",
			"accuracy", "epsilon", "accountant"}
	}
	for _, row := range r.Rows {
		failures := ""
		if row.Failures > 0 {
			failures = strconv.Itoa(row.Failures)
		}
		share := formatShare(row.Accuracy, exact)
		if !exact && row.Released < 0.05 { // prints as none
			share = ""
		}
		t.Rows = append(t.Rows, []string{strconv.FormatFloat(row.TargetEpsilon, 'g', -1, 64), row.Mechanism, shell.FormatUp(row.Noise,
			exact), failures,
			shell.FormatExpected(row.Asked, exact), shell.FormatExpected(row.Released, exact), shell.FormatExpected(row.Right,
				exact), share, shell.FormatEpsilon(row.Epsilon, exact), string(row.Accountant)})
	}
	if err := t.Write(g.Stdout, format); err != nil {
		return err
	}
	tellPlanPrivate(g, r.Private)
	return nil
}
