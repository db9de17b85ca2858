package aggregate

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

// Mechanism answers queries. The noise and the caps on queries and answers determine the privacy cost.
type Mechanism interface {
	// Event returns the event of the worst case: a session that uses up the caps on queries and answers.
	Event() accountant.Event
	// Start begins a session. Start fails if r was used before, or if r charges an event that differs from
	// the result of Event. A key must not be used for two sets of votes. So derive the key from a hash of the
	// votes.
	Start(r *ledger.Reservation, key rng.Key) (Session, error)
	// Law returns the exact distribution of the first answer on the votes h.
	Law(h Histogram) (Law, error)
}

// Session answers queries within a charged budget. Concurrent use is safe.
type Session interface {
	// Ask answers one query with the votes h. The query number is public and unique in the run. A repeated
	// number returns the stored answer without a new charge. Once a cap is used up, the error matches
	// [ErrExhausted]. All histograms of a session must have the same number of classes.
	Ask(query uint64, h Histogram) (Answer, error)
	// AskBatch answers the queries first, first+1, ... in order, like Ask. If a query fails, AskBatch returns
	// the error and the earlier answers. For invalid histograms or predictions, AskBatch may return no
	// answers.
	AskBatch(first uint64, votes []Histogram) ([]Answer, error)
	// Releasable reports whether the answers may be released: the noise key must be secret.
	Releasable() bool
}

// NoLabel is the label of a declined query.
const NoLabel = -1

// Answer is the released result of one query.
type Answer struct {
	Label    int  // class, or NoLabel
	Answered bool // false: the mechanism declined
	Reused   bool // the label is the student's own; it uses up none of the cap on answers
}

// ErrExhausted matches the error of [Session].Ask after a cap is used up.
var ErrExhausted = errors.New("aggregate: exhausted")

type rule interface {
	// noise returns the name and the parameters from which the key of the noise is derived.
	noise() (name string, params []uint64)
	draw(noise []int64, s *rng.Stream, classes int) []int64 // appends to noise, reads no votes
	decide(counts, noise []int64) Answer
}

type single struct {
	rule
	cost    accountant.Event // of one query, with exactly the sampled noise
	queries int
}

func (m *single) Event() accountant.Event {
	return accountant.Repeated{Event: m.cost, Count: int64(m.queries)}
}

func (m *single) Start(r *ledger.Reservation, key rng.Key) (Session, error) {
	return start(m, m.rule, r, key, m.queries, m.queries)
}

type noisyCounts struct {
	name  string
	scale float64 // of the noise
	each  interface{ Sample(*rng.Stream) int64 }
}

func (c noisyCounts) noise() (string, []uint64) { return c.name, []uint64{math.Float64bits(c.scale)} }

func (c noisyCounts) draw(noise []int64, s *rng.Stream, classes int) []int64 {
	return drawEach(noise, classes, c.each, s)
}

func (noisyCounts) decide(counts, noise []int64) Answer {
	return Answer{Label: argmax(counts, noise), Answered: true}
}

func drawEach(noise []int64, classes int, d interface{ Sample(*rng.Stream) int64 }, s *rng.Stream) []int64 {
	for range classes {
		noise = append(noise, d.Sample(s))
	}
	return noise
}

func argmax(counts, noise []int64) int {
	best := 0
	for i := range counts {
		if counts[i]+noise[i] > counts[best]+noise[best] {
			best = i
		}
	}
	return best
}

func sampler(field string, sigma float64) (*rng.DiscreteGaussian, error) {
	d, err := rng.NewDiscreteGaussian(sigma)
	if err != nil {
		return nil, fmt.Errorf("aggregate: %s (measured in votes): %w", field, err)
	}
	return d, nil
}

func laplaceNoiseFor(scale float64, queries int) (*rng.DiscreteLaplace, error) {
	d, err := rng.NewDiscreteLaplace(scale)
	if err != nil {
		return nil, fmt.Errorf("aggregate: Scale (measured in votes): %w", err)
	}
	return d, checkCap("Queries", queries, maxQueries)
}

func checkCap(field string, n, limit int) error {
	if n < 1 {
		return fmt.Errorf("aggregate: %s must be at least 1, not %d: it is what will be charged for", field, n)
	}
	if n > limit {
		return fmt.Errorf("aggregate: %s must be at most %d, not %d", field, limit, n)
	}
	return nil
}

const maxQueries = min(1<<53, math.MaxInt)
