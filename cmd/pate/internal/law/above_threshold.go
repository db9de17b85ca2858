package law

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/svt"
)

// aboveThresholdReport is the JSON of `pate learn law above-threshold`.
type aboveThresholdReport struct {
	Schema        string             `json:"schema"`
	Mechanism     string             `json:"mechanism"`
	Noise         string             `json:"noise"`
	Parameters    map[string]float64 `json:"parameters"`
	Queries       []float64          `json:"queries"`
	Probabilities []float64          `json:"probabilities"` // that each query is the first above
	None          float64            `json:"none"`          // that none is
}

func newAboveThresholdLaw(g *shell.Globals) *cobra.Command {
	var queries []float64
	var threshold, epsilon1, epsilon2 float64
	cmd := &cobra.Command{
		Use: "above-threshold",
		Args: shell.Wants(cobra.NoArgs, func(cmd *cobra.Command, _ []string) []string {
			return shell.Unset(cmd, "queries", "threshold", "epsilon1", "epsilon2")
		}),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for name, e := range map[string]float64{"epsilon1": epsilon1, "epsilon2": epsilon2} {
				if !(e > 0 && e <= math.MaxFloat64) {
					return shell.InputError(fmt.Errorf("--%s %v: must be a finite number above 0", name, e), "",
						"see pate learn law above-threshold --help", "mechanisms")
				}
			}
			law := svt.Law{Threshold: threshold, Stop: 1,
				ThresholdNoise: svt.Noise{Kind: svt.Laplace, Scale: 1 / epsilon1}, QueryNoise: svt.Noise{Kind: svt.Laplace, Scale: 2 / epsilon2}}
			first, none, err := law.FirstAbove(queries)
			if err != nil {
				return shell.InputError(err, "", "see pate learn law above-threshold --help", "mechanisms")
			}
			return writeAboveThreshold(g, aboveThresholdReport{Schema: schemaLaw, Mechanism: "above-threshold", Noise: "continuous",
				Parameters: map[string]float64{"threshold": threshold, "epsilon1": epsilon1, "epsilon2": epsilon2},
				Queries:    queries, Probabilities: first, None: none})
		},
	}
	flags := cmd.Flags()
	flags.Float64SliceVar(&queries, "queries", nil, "values of the queries, separated by commas (required)")
	flags.Float64Var(&threshold, "threshold", 0, "what a query must reach (required)")
	flags.Float64Var(&epsilon1, "epsilon1", 0, "of the threshold (required)")
	flags.Float64Var(&epsilon2, "epsilon2", 0, "of the answer (required)")
	return cmd
}

func writeAboveThreshold(g *shell.Globals, r aboveThresholdReport) error {
	format := g.ParsedFormat()
	if format == table.JSON {
		return shell.WriteJSON(g.Stdout, r)
	}
	t := table.Table{Header: []string{"first above", "value", "probability"}, Left: []bool{true}}
	add := func(name, value string, p float64) {
		row := []string{name, value, formatProbability(math.Log(p), format == table.CSV)}
		if format == table.Text {
			row = append(row, bar(p, 40))
		}
		t.Rows = append(t.Rows, row)
	}
	for i, p := range r.Probabilities {
		add(strconv.Itoa(i), strconv.FormatFloat(r.Queries[i], 'g', -1, 64), p)
	}
	add("none", "", r.None)
	if format == table.Text {
		t.Header = append(t.Header, "")
		t.Left = append(t.Left, false, false, true)
	}
	return t.Write(g.Stdout, format)
}
