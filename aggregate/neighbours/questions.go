package neighbours

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/rng"
)

// NearestQuestionsConfig holds the parameters of [NearestQuestions]. Only Silos has a default.
type NearestQuestionsConfig struct {
	Votes     int     // votes per unit, each at a different question; [1, Questions]
	Sigma     float64 // standard deviation of the noise on each count, in votes
	Questions int     // number of questions; it does not change the privacy cost
	Silos     int     // largest number of silos that may each count the votes of one unit; 0 means 1
}

// NearestQuestions releases noisy vote counts for every question. Each unit votes at the questions nearest to
// its rows ([Cast]).
type NearestQuestions struct {
	cfg   NearestQuestionsConfig
	noise *rng.DiscreteGaussian
}

// NewNearestQuestions returns the mechanism for cfg.
func NewNearestQuestions(cfg NearestQuestionsConfig) (*NearestQuestions, error) {
	switch {
	case cfg.Questions < 1:
		return nil, fmt.Errorf("neighbours: Questions must be at least 1, not %d", cfg.Questions)
	case cfg.Votes < 1 || cfg.Votes > cfg.Questions:
		return nil, fmt.Errorf("neighbours: Votes must be between 1 and the %d questions, not %d", cfg.Questions, cfg.Votes)
	case cfg.Silos < 0:
		return nil, fmt.Errorf("neighbours: Silos must not be negative, but is %d", cfg.Silos)
	}
	noise, err := rng.NewDiscreteGaussian(cfg.Sigma)
	if err != nil {
		return nil, fmt.Errorf("neighbours: Sigma: %w", err)
	}
	return &NearestQuestions{cfg, noise}, nil
}

// Event returns the event to charge for all counts. Neighbours differ by one added or removed unit.
func (m *NearestQuestions) Event() accountant.Event {
	e := accountant.Repeated{
		Event: accountant.DiscreteGaussian{Sigma: m.noise.Sigma(), Sensitivity: 1},
		Count: int64(m.cfg.Votes),
	}
	if m.cfg.Silos > 1 {
		return accountant.Group{Size: int64(m.cfg.Silos), Event: e}
	}
	return e
}

// Counts holds the released noisy votes.
type Counts struct {
	Classes int
	Votes   []int64 // of every class of every question, grouped by question
}

// At returns the noisy votes for each class on a question.
func (c Counts) At(question int) []int64 {
	return c.Votes[question*c.Classes : (question+1)*c.Classes]
}

// Labels returns, for each question, the class with the most noisy votes. The lowest index wins a tie.
func (c Counts) Labels() []int {
	labels := make([]int, len(c.Votes)/c.Classes)
	for q := range labels {
		labels[q] = dense.Argmax(c.At(q))
	}
	return labels
}

// Release adds noise to the result of Cast, or to the sum of several silos' results. Release fails if r was
// used, does not charge m.Event(), or its relation is not add_remove. Equal keys, ledger entries and votes
// give equal counts.
func (m *NearestQuestions) Release(r *ledger.Reservation, key rng.Key, classes int, votes []int64) (Counts, error) {
	if classes < 2 || len(votes) != m.cfg.Questions*classes {
		return Counts{}, fmt.Errorf("neighbours: %d votes for %d classes of %d questions", len(votes), classes, m.cfg.Questions)
	}
	key, err := begin(r, key, m.Event(), "nearest questions", uint64(m.cfg.Votes), math.Float64bits(m.noise.Sigma()), uint64(m.cfg.Questions))
	if err != nil {
		return Counts{}, err
	}
	counts := draw(key, m.noise, m.cfg.Questions, classes)
	for i, v := range votes {
		counts[i] += v
	}
	return Counts{classes, counts}, nil
}

// Cast returns the votes without noise, for every class of every question. Each unit votes at the `votes`
// questions nearest to its rows. The result is private. The results of several silos may be added.
func Cast(ctx context.Context, private Rows, questions blas32.General, votes int) ([]int64, error) {
	if err := private.check(questions); err != nil {
		return nil, err
	}
	if votes < 1 || votes > questions.Rows {
		return nil, fmt.Errorf("neighbours: %d votes at %d questions", votes, questions.Rows)
	}
	g, panels := private.group(), newPanels(questions)
	parts := (g.units() + unitsAtOnce - 1) / unitsAtOnce
	sums := make([]*ballot, parts) // one per worker
	parallel.Each(0, parts, func(w, part int) {
		if ctx.Err() != nil {
			return
		}
		if sums[w] == nil {
			counts := make([]int64, questions.Rows*private.Classes)
			sums[w] = &ballot{private.Classes, counts, newBlock(min(panelRows, questions.Rows)), make([]nearest, unitsAtOnce)}
		}
		from := part * unitsAtOnce
		sums[w].vote(g, panels, votes, from, min(from+unitsAtOnce, g.units()))
	})
	out := make([]int64, questions.Rows*private.Classes)
	for _, b := range sums {
		if b == nil {
			continue
		}
		for i, v := range b.counts {
			out[i] += v
		}
	}
	return out, ctx.Err()
}

type ballot struct {
	classes int
	counts  []int64
	block   *block
	places  []nearest // one per unit
}

func (b *ballot) vote(g grouped, panels []*panel, votes, from, to int) {
	places := b.places[:to-from]
	for u := range places {
		places[u].reset(votes)
	}
	first := g.starts[from]
	single := g.starts[to]-first == to-from // each unit has one row
	for _, p := range panels {
		if single {
			b.block.multiply(p, g, first, first+to-from)
			for u := range places {
				places[u].offerRow(p, of(p, b.block.products, u), g.norms[first+u], int32(g.y[first+u]))
			}
			continue
		}
		b.block.measure(p, g, from, to)
		for u := range places {
			label := of(p, b.block.label, u)
			for q, d := range of(p, b.block.distance, u) {
				if !places[u].beyond(d) {
					places[u].offer(near{d, label[q], p.first + q})
				}
			}
		}
	}
	for _, kept := range places {
		for _, n := range kept.first() {
			b.counts[n.at*b.classes+int(n.label)]++
		}
	}
}
