package student

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/table"
)

// report returns the JSON of a new model.
func report(m *published.Model, pool int) shell.Object {
	l := m.Labels
	var epsilon *float64
	if l.Entry > 0 {
		epsilon = &l.Epsilon
	}
	return shell.Object{
		"schema", "pate.student/1", "labels", l.Released, "pool", pool, "kind", m.Card.String(), "classes", m.Classes, "held_back?", held(m),
		"ledger_entry?", l.Entry, "epsilon?", epsilon, "delta?", l.Delta, "unit?", l.Unit, "labels_sha256", l.SHA256,
		"releasable", l.Releasable, "waived?", l.Waived,
	}
}

// held returns how well the model predicts labels that were held back; nil if none were.
func held(m *published.Model) *published.HeldBack {
	if m.HeldBack.Labels == 0 {
		return nil
	}
	return &m.HeldBack
}

func tableOf(m *published.Model, pool int, f table.Format) table.Table {
	epsilon := ""
	if m.Labels.Entry > 0 {
		epsilon = shell.FormatUp(m.Labels.Epsilon, f == table.CSV)
	}
	t := shell.TableOf("labels", "pool", "predicts % of labels held back", "epsilon", "<releasable")
	t.Rows = [][]string{{strconv.Itoa(m.Labels.Released), strconv.Itoa(pool), held(m).Percent(), epsilon, shell.YesNo(m.Labels.Releasable)}}
	if f != table.Text { // on a terminal the student, which takes words, stands below
		t.Header, t.Rows[0], t.Left = append(t.Header, "student"), append(t.Rows[0], m.Card.String()), append(t.Left, true)
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
