package nearby

import (
	"context"
	"slices"
	"strconv"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/rng"
)

// Labels holds released labels of questions.
type Labels struct {
	Of     []int             // class of each question, or aggregate.Abstain
	Counts neighbours.Counts // noisy votes; zero if not released
}

func (p Plan) Release(ctx context.Context, r *ledger.Reservation, key rng.Key, private neighbours.Rows, asked dense.Matrix) (l Labels, err error) {
	if p.Sampled == 0 {
		votes, err := neighbours.Cast(ctx, private, asked, p.Near)
		if err != nil {
			return l, err
		}
		return p.ReleaseVotes(r, key, private.Classes, votes)
	}
	m, err := p.sampled()
	if err == nil {
		l.Of, err = m.Release(ctx, r, key, private, asked)
	}
	return l, err
}

// ReleaseVotes draws the labels. The argument `votes` is from [neighbours.Cast], or a sum over silos.
func (p Plan) ReleaseVotes(r *ledger.Reservation, key rng.Key, classes int, votes []int64) (l Labels, err error) {
	m, err := p.nearest()
	if err == nil {
		l.Counts, err = m.Release(r, key, classes, votes)
	}
	if err != nil {
		return Labels{}, err
	}
	l.Of = l.Counts.Labels()
	if p.Drawn {
		l.abstain(fewestVotes * p.Sigma)
	}
	return l, nil
}

// Some drawn rows are unlike all private rows, so noise would choose the label. The number was chosen on
// abalone, satellite and waveform.

// fewestVotes is the noisy count below which a label is usually dropped, in standard deviations of the noise.
const fewestVotes = 2

func (l Labels) abstain(least float64) {
	counts := make([]float64, len(l.Of))
	for q, class := range l.Of {
		counts[q] = float64(l.Counts.At(q)[class])
	}
	sorted := slices.Sorted(slices.Values(counts))
	least = min(least, sorted[max(0, len(sorted)-nearestFewest*l.Counts.Classes)])
	for q := range l.Of {
		if counts[q] < least {
			l.Of[q] = aggregate.Abstain
		}
	}
}

// Table returns the labels as a table for release. Each row has a question, its class and, if released, the
// noisy votes per class. The column of classes has the header `label`.
func (l Labels) Table(label string, questions []string, name func(class int) string, classes []string) table.Table {
	t := table.Table{Header: []string{"query", label}}
	if l.Counts.Classes > 0 {
		for _, class := range classes {
			t.Header = append(t.Header, "votes "+class)
		}
	}
	for q, class := range l.Of {
		cells := []string{questions[q], ""}
		if class != aggregate.Abstain {
			cells[1] = name(class)
		}
		if l.Counts.Classes > 0 {
			for _, v := range l.Counts.At(q) {
				cells = append(cells, strconv.FormatInt(v, 10))
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}
