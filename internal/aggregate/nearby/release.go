package nearby

import (
	"context"
	"strconv"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/rng"
)

// Labels holds released labels of questions.
type Labels struct {
	Of     []int             // class of each question
	Counts neighbours.Counts // noisy votes; zero if not released
}

// Release draws the labels under a reservation of the plan's event.
func (p Plan) Release(ctx context.Context, r *ledger.Reservation, key rng.Key, private neighbours.Rows, asked dense.Matrix) (l Labels, err error) {
	if p.Sampled > 0 {
		m, err := p.sampled()
		if err == nil {
			l.Of, err = m.Release(ctx, r, key, private, asked)
		}
		return l, err
	}
	m, err := p.nearest()
	if err == nil {
		l.Counts, err = m.Release(ctx, r, key, private, asked)
	}
	if err != nil {
		return Labels{}, err
	}
	l.Of = l.Counts.Labels()
	return l, nil
}

// Table returns the labels as a table for release. Each row has a question, the class in a column named by
// label, and the noisy votes per class if they are released.
func (l Labels) Table(label string, questions []string, name func(class int) string, classes []string) table.Table {
	t := table.Table{Header: []string{"query", label}}
	if l.Counts.Classes > 0 {
		for _, class := range classes {
			t.Header = append(t.Header, "votes "+class)
		}
	}
	for q, class := range l.Of {
		cells := []string{questions[q], name(class)}
		if l.Counts.Classes > 0 {
			for _, v := range l.Counts.At(q) {
				cells = append(cells, strconv.FormatInt(v, 10))
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}
