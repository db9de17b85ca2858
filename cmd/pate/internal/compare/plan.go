package compare

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/table"
)

// printPlan prints the steps of a comparison with their time and memory.
func printPlan(ctx context.Context, g *shell.Globals, cfg experiments.Config) error {
	o, err := cfg.Outline(ctx)
	if err != nil {
		return err
	}
	return g.Print(o, func(table.Format) table.Table {
		t := table.Table{Header: []string{"what", "times", "about s", "GB"}, Left: []bool{true}}
		cells := func(what string, times string, seconds, bytes float64) {
			t.Rows = append(t.Rows, []string{what, times, fmt.Sprintf("%.0f", math.Ceil(seconds)), fmt.Sprintf("%.1f", math.Ceil(bytes/1e8)/10)})
		}
		for _, s := range o.Steps {
			cells(s.What, fmt.Sprint(s.Times), s.Seconds, s.Bytes)
		}
		cells("all", "", o.Seconds, o.Bytes)
		return t
	})
}
