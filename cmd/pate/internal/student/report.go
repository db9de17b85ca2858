package student

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/table"
)

// report is the JSON of a new model.
type report struct {
	Schema  string              `json:"schema"`
	Labels  int                 `json:"labels"` // it learned from
	Pool    int                 `json:"pool"`   // rows
	Kind    string              `json:"kind"`
	Classes []string            `json:"classes"`
	Held    *published.HeldBack `json:"held_back,omitempty"`
	Entry   int64               `json:"ledger_entry,omitempty"`
	Epsilon *float64            `json:"epsilon,omitempty"`
	Delta   float64             `json:"delta,omitempty"`
	Unit    string              `json:"unit,omitempty"`
	SHA256  string              `json:"labels_sha256"`
	// Releasable says whether the model may leave.
	Releasable bool     `json:"releasable"`
	Waived     []string `json:"waived,omitempty"` // refusals that were overridden for the labels
}

func newReport(m *published.Model, pool dataset.Pool) report {
	r := report{
		Schema: schemaStudent, Labels: m.Labels.Released, Pool: pool.Len(), Kind: m.Card.String(), Classes: m.Classes, Entry: m.Labels.Entry,
		Delta: m.Labels.Delta, Unit: m.Labels.Unit, SHA256: m.Labels.SHA256, Releasable: m.Labels.Releasable, Waived: m.Labels.Waived,
	}
	if m.HeldBack.Labels > 0 {
		r.Held = &m.HeldBack
	}
	if m.Labels.Entry > 0 {
		r.Epsilon = &m.Labels.Epsilon
	}
	return r
}

func (r report) table(f table.Format) table.Table {
	epsilon := ""
	if r.Epsilon != nil {
		epsilon = shell.FormatUp(*r.Epsilon, f == table.CSV)
	}
	t := table.Table{
		Header: []string{"labels", "pool", "predicts % of labels held back", "epsilon", "releasable"},
		Left:   []bool{false, false, false, false, true},
		Rows:   [][]string{{strconv.Itoa(r.Labels), strconv.Itoa(r.Pool), r.Held.Percent(), epsilon, shell.YesNo(r.Releasable)}},
	}
	if f != table.Text { // on a terminal the student, which takes words, stands below
		t.Header, t.Rows[0], t.Left = append(t.Header, "student"), append(t.Rows[0], r.Kind), append(t.Left, true)
	}
	return t
}

// warning returns whether a model may leave, and if not, why.
func warning(c published.Card) string {
	switch {
	case c.Labels.Releasable:
		return "the model has the guarantee of its labels and may be published"
	case len(c.Labels.Waived) > 0:
		return fmt.Sprintf("NOT releasable: refusals were waived for the labels (%s), so that epsilon may not be true",
			strings.Join(c.Labels.Waived, ", "))
	case c.Labels.Entry > 0:
		return "NOT releasable: the noise of the labels comes from a seed"
	}
	return "not marked as releasable: --ledger shows that the labels were released"
}
