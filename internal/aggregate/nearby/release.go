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

// Labels are released answers to questions.
type Labels struct {
	Of     []int             // class of each question
	Counts neighbours.Counts // noisy votes; zero if they are not released
}

// Release draws the labels, once for each reservation of the plan's event.
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

// Table returns the labels as a file for release. It has the name of every question and of its class, and the
// noisy votes if they are released, in columns named after the classes. The label's column has its own name.
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
