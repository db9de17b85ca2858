package neighbours

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/internal/rng"
)

// NearestQuestionsConfig are the parameters of a vote at the nearest questions; none has a
// default.
type NearestQuestionsConfig struct {
	Votes     int     // of every unit, each at another question; [1, Questions]
	Sigma     float64 // standard deviation of the noise on each count, in votes
	Questions int     // how many there are; they cost nothing
}

// NearestQuestions lets every unit vote at the questions nearest to it, and releases all
// counts with noise.
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
	}
	noise, err := rng.NewDiscreteGaussian(cfg.Sigma)
	if err != nil {
		return nil, fmt.Errorf("neighbours: Sigma: %w", err)
	}
	return &NearestQuestions{cfg, noise}, nil
}

// Event returns what the counts cost together, for a unit that is added or removed: one
// count at each of Votes questions moves by one.
func (m *NearestQuestions) Event() accountant.Event {
	return accountant.Repeated{
		Event: accountant.DiscreteGaussian{Sigma: m.noise.Sigma(), Sensitivity: 1},
		Count: int64(m.cfg.Votes),
	}
}

// Counts are noisy votes: released.
type Counts struct {
	Classes int
	Votes   []int64 // of every class of every question
}

// At returns the noisy votes at a question, one for each class.
func (c Counts) At(question int) []int64 {
	return c.Votes[question*c.Classes : (question+1)*c.Classes]
}

// Labels returns the class with most noisy votes at every question, the lowest of equals.
func (c Counts) Labels() []int {
	labels := make([]int, len(c.Votes)/c.Classes)
	for q := range labels {
		labels[q] = dense.Argmax(c.At(q))
	}
	return labels
}

// Release returns the noisy counts. It fails unless r charges exactly Event, under
// add_remove, and was not used before. The same key, rows and questions give the same
// counts.
func (m *NearestQuestions) Release(ctx context.Context, r *ledger.Reservation, key rng.Key, private Rows, questions dense.Matrix) (Counts, error) {
	if err := private.check(questions); err != nil {
		return Counts{}, err
	}
	if questions.Rows != m.cfg.Questions {
		return Counts{}, fmt.Errorf("neighbours: %d questions, not %d", questions.Rows, m.cfg.Questions)
	}
	key, err := begin(r, key, m.Event(), "nearest questions", uint64(m.cfg.Votes), math.Float64bits(m.noise.Sigma()), uint64(m.cfg.Questions))
	if err != nil {
		return Counts{}, err
	}
	counts := draw(key, m.noise, m.cfg.Questions, private.Classes) // before any row is looked at
	votes, err := m.votes(ctx, private, questions)
	if err != nil {
		return Counts{}, err
	}
	for i, v := range votes {
		counts[i] += v
	}
	return Counts{private.Classes, counts}, nil
}

// votes returns the counts without noise.
func (m *NearestQuestions) votes(ctx context.Context, private Rows, questions dense.Matrix) ([]int64, error) {
	g, t := private.group(), newTarget(questions)
	const unitsAtOnce = 512
	parts := (g.units() + unitsAtOnce - 1) / unitsAtOnce
	sums := make([]*ballot, parts) // by worker
	parallel.Each(0, parts, func(w, part int) {
		if ctx.Err() != nil {
			return
		}
		if sums[w] == nil {
			sums[w] = newBallot(t.rows, private.Classes, m.cfg.Votes)
		}
		for u := part * unitsAtOnce; u < min((part+1)*unitsAtOnce, g.units()); {
			u = sums[w].vote(g, t, u, min((part+1)*unitsAtOnce, g.units()))
		}
	})
	out := make([]int64, t.rows*private.Classes)
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

// ballot counts the votes that one goroutine has seen.
type ballot struct {
	classes  int
	most     int // votes of a unit
	counts   []int64
	block    []float32
	distance []float32 // of one unit
	label    []int
	near     nearest
}

func newBallot(questions, classes, most int) *ballot {
	return &ballot{classes: classes, most: most, counts: make([]int64, questions*classes),
		block: make([]float32, rowsAtOnce*questions), distance: make([]float32, questions), label: make([]int, questions)}
}

// vote counts the votes of units from u on, as many as have their rows in one block, at
// least one and none from end on. It returns the first unit that is left.
func (b *ballot) vote(g grouped, t *target, u, end int) int {
	first, last := g.starts[u], u
	for last < end && g.starts[last+1]-first <= rowsAtOnce {
		last++
	}
	if last == u {
		b.unit(g, t, u)
		return u + 1
	}
	t.distances(b.block, g, first, g.starts[last])
	for ; u < last; u++ {
		b.start()
		for i := g.starts[u]; i < g.starts[u+1]; i++ {
			b.nearer(b.block[(i-first)*t.rows:(i-first+1)*t.rows], g.y[i])
		}
		b.cast()
	}
	return last
}

// unit counts the votes of a unit of any number of rows.
func (b *ballot) unit(g grouped, t *target, u int) {
	b.start()
	for from := g.starts[u]; from < g.starts[u+1]; from += rowsAtOnce {
		to := min(from+rowsAtOnce, g.starts[u+1])
		t.distances(b.block, g, from, to)
		for i := from; i < to; i++ {
			b.nearer(b.block[(i-from)*t.rows:(i-from+1)*t.rows], g.y[i])
		}
	}
	b.cast()
}

// start forgets the unit before.
func (b *ballot) start() {
	for q := range b.label {
		b.label[q] = -1
	}
}

// nearer takes in a row of the unit.
func (b *ballot) nearer(distance []float32, class int) {
	for q, d := range distance {
		if b.label[q] < 0 || d < b.distance[q] {
			b.distance[q], b.label[q] = d, class
		}
	}
}

// cast adds the unit's votes: one for each of the nearest questions.
func (b *ballot) cast() {
	b.near.reset(b.most)
	for q, d := range b.distance {
		b.near.offer(d, q)
	}
	for _, n := range b.near.kept {
		b.counts[n.at*b.classes+b.label[n.at]]++
	}
}
