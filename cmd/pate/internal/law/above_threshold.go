package law

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/svt"
)

// newAboveThresholdLaw returns `pate learn law above-threshold`.
func newAboveThresholdLaw(g *shell.Globals) *cobra.Command {
	var queries []float64
	var threshold, epsilon1, epsilon2 float64
	cmd := &cobra.Command{
		Use:  "above-threshold",
		Args: shell.Needs(cobra.NoArgs, "queries", "threshold", "epsilon1", "epsilon2"),
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
			report := shell.Object{"schema", schemaLaw, "mechanism", "above-threshold", "noise", "continuous",
				"parameters", map[string]float64{"threshold": threshold, "epsilon1": epsilon1, "epsilon2": epsilon2},
				"queries", queries, "probabilities", first, "none", none} // that each is the first above, and that none is
			return g.Print(report, func(format table.Format) table.Table {
				p := newPicture("first above", "value", format)
				for i, x := range first {
					p.add(strconv.Itoa(i), number.Exact(queries[i]), math.Log(x))
				}
				p.add("none", "", math.Log(none))
				return p.Table
			})
		},
	}
	shell.Declare(cmd.Flags(), "above-threshold", shell.To{"queries": &queries, "threshold": &threshold, "epsilon1": &epsilon1,
		"epsilon2": &epsilon2})
	return cmd
}
