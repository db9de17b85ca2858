package analyze

import (
	"fmt"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/analysis"
	"github.com/pate-go/pate/internal/table"
)

const schemaReleased = "pate.released/1"

const releasedNote = "with noise, and charged to the ledger; one-sided, about these votes and these answers; no (epsilon, delta) guarantee: " +
	"that is the ledger's"

// releasedReport is all that `pate votes analyze release` writes: the number released,
// What follows from it, and public parameters.
type releasedReport struct {
	Schema      string         `json:"schema"`
	Note        string         `json:"note"`
	Released    releasedNumber `json:"released"`
	Name        string         `json:"name"`
	Mechanism   string         `json:"mechanism"`
	Threshold   *float64       `json:"threshold,omitempty"`
	Sigma       float64        `json:"sigma,omitempty"`
	Sigma1      float64        `json:"sigma1,omitempty"`
	Sigma2      float64        `json:"sigma2,omitempty"`
	Queries     [2]int         `json:"queries"` // from <= q < to
	Teachers    int            `json:"teachers"`
	Classes     int            `json:"classes"`
	Beta        float64        `json:"beta"`
	SigmaSS     float64        `json:"sigma_ss"`
	Margin      float64        `json:"margin"`
	Grid        float64        `json:"grid"`
	ReleaseCost float64        `json:"release_cost"` // divergence of the release at the order
	TooLow      float64        `json:"too_low"`      // probability that the cost is below what it bounds
}

// releasedNumber is the released number.
type releasedNumber struct {
	Private    bool    `json:"private"`    // false if releasable
	Releasable bool    `json:"releasable"` // false if the noise comes from a seed
	Cost       float64 `json:"cost"`       // divergence at the order, one-sided
	Order      float64 `json:"order"`
	Epsilon    float64 `json:"epsilon"` // cost and release cost together, at delta
	Delta      float64 `json:"delta"`
}

func (r *releaseRun) report(out analysis.Released) releasedReport {
	c, f := r.sanitizer.Config(), r.flags
	from, to := r.votes.Range()
	report := releasedReport{
		Schema: schemaReleased, Note: releasedNote, Name: f.name, Mechanism: f.Mechanism,
		Released: releasedNumber{
			Private: !out.Releasable, Releasable: out.Releasable, Cost: out.Cost, Order: out.Order, Epsilon: out.Epsilon, Delta: out.Delta,
		},
		Sigma: f.Value("sigma"), Sigma1: f.Value("sigma1"), Sigma2: f.Value("sigma2"),
		Queries: [2]int{from, to}, Teachers: c.Teachers, Classes: c.Classes,
		Beta: c.Beta, SigmaSS: c.Sigma, Margin: c.Margin, Grid: c.Grid, ReleaseCost: out.ReleaseCost, TooLow: out.TooLow,
	}
	if f.Mechanism == "confident" {
		threshold := f.Value("threshold")
		report.Threshold = &threshold
	}
	return report
}

func writeReleased(g *shell.Globals, r releasedReport) error {
	releasable := "yes"
	if !r.Released.Releasable {
		g.Logf("NOT releasable: the noise comes from a seed")
		releasable = "no: seeded"
	}
	err := g.Print(r, func(table.Format) table.Table {
		return table.Table{
			Header: []string{"released epsilon", "delta", "cost", "order", "cost of release", "too low", "releasable"},
			Left:   []bool{false, false, false, false, false, false, true},
			Rows: [][]string{{
				fmt.Sprintf("%.4f", r.Released.Epsilon), fmt.Sprintf("%g", r.Released.Delta), fmt.Sprintf("%.4f", r.Released.Cost),
				fmt.Sprintf("%g", r.Released.Order), fmt.Sprintf("%.4f", r.ReleaseCost), fmt.Sprintf("%.4f", r.TooLow), releasable,
			}},
		}
	})
	if g.ParsedFormat() != table.JSON {
		g.Logf("%s", releasedNote)
	}
	return err
}
