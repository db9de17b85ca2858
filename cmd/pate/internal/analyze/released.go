package analyze

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/analysis"
	"github.com/pate-go/pate/internal/table"
)

const schemaReleased = "pate.released/1"

const releasedNote = "with noise, and charged to the ledger; one-sided, about these votes and these answers; no (epsilon, delta) guarantee: " +
	"that is the ledger's"

// releasedReport is all that `pate votes analyze release` writes: the number released, what follows from it, and
// public parameters. The text has all of it.
type releasedReport struct {
	text     json.RawMessage
	Released struct {
		Releasable                  bool // false if the noise comes from a seed
		Cost, Order, Epsilon, Delta float64
	}
	ReleaseCost float64 `json:"release_cost"`
	TooLow      float64 `json:"too_low"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *releasedReport) UnmarshalJSON(text []byte) error {
	type plain releasedReport
	err := json.Unmarshal(text, (*plain)(r))
	r.text = slices.Clone(text)
	return err
}

// report returns the JSON of a release: the cost is a divergence at the order and one-sided, epsilon that of the cost
// and of the release together at delta, queries are from <= q < to, release_cost is a divergence, too, and too_low
// the probability that the cost is below what it bounds.
func (r *releaseRun) report(out analysis.Released) shell.Object {
	c, f := r.sanitizer.Config(), r.flags
	from, to := r.votes.Range()
	report := shell.Object{"schema", schemaReleased, "note", releasedNote, "released", shell.Object{"private", !out.Releasable,
		"releasable", out.Releasable, "cost", out.Cost, "order", out.Order, "epsilon", out.Epsilon, "delta", out.Delta},
		"name", f.name, "mechanism", f.Mechanism}
	if f.Mechanism == "confident" {
		report = append(report, "threshold", f.Value("threshold"))
	}
	return append(report, "sigma?", f.Value("sigma"), "sigma1?", f.Value("sigma1"), "sigma2?", f.Value("sigma2"),
		"queries", [2]int{from, to}, "teachers", c.Teachers, "classes", c.Classes, "beta", c.Beta, "sigma_ss", c.Sigma,
		"margin", c.Margin, "grid", c.Grid, "release_cost", out.ReleaseCost, "too_low", out.TooLow)
}

func writeReleased(g *shell.Globals, r releasedReport) error {
	releasable := "yes"
	if !r.Released.Releasable {
		g.Logf("NOT releasable: the noise comes from a seed")
		releasable = "no: seeded"
	}
	err := g.Print(r.text, func(table.Format) table.Table {
		t := shell.TableOf("released epsilon", "delta", "cost", "order", "cost of release", "too low", "<releasable")
		row := fmt.Sprintf("%.4f %g %.4f %g %.4f %.4f", r.Released.Epsilon, r.Released.Delta, r.Released.Cost, r.Released.Order,
			r.ReleaseCost, r.TooLow)
		t.Rows = [][]string{append(strings.Fields(row), releasable)}
		return t
	})
	if g.ParsedFormat() != table.JSON {
		g.Logf("%s", releasedNote)
	}
	return err
}
