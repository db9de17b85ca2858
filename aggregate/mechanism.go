package aggregate

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

// Mechanism answers queries at a cost that is fixed: the kind of noise, its parameters, and the caps on
// questions and answers.
type Mechanism interface {
	// Event returns the event of a whole session in the worst case: all questions asked, all answers given.
	Event() accountant.Event
	// Start begins a session. It fails unless r charges exactly Event and was not used before. A key must
	// not be used for two sets of votes: derive it from a hash of the votes.
	Start(r *ledger.Reservation, key rng.Key) (Session, error)
	// Law returns the exact distribution of the first answer on given votes.
	Law(h Histogram) (Law, error)
}

// Session answers queries within a budget that has been charged. It is safe for concurrent use.
type Session interface {
	// Ask answers one query on the votes h. The query's number is public and unique in the run. A number
	// asked before gets the stored answer, whatever h is, and uses up nothing. Beyond a cap the error is
	// [ErrExhausted]. All histograms of a session must have the same number of classes.
	Ask(query uint64, h Histogram) (Answer, error)
	// AskBatch answers the queries first, first+1, ... in order, like Ask. If a query fails, it returns the
	// error and the answers before that query, or no answers if the votes themselves are wrong.
	AskBatch(first uint64, votes []Histogram) ([]Answer, error)
	// Releasable reports whether the noise is secret, so that answers may be released.
	Releasable() bool
}

// NoLabel is the label if the mechanism declines.
const NoLabel = -1

// Answer is the released result of one query.
type Answer struct {
	Label    int  // class, or NoLabel
	Answered bool // false: the mechanism declined
	Reused   bool // the label is the student's own, confirmed by the teachers, which costs no answer
}

// ErrExhausted is returned by [Session].Ask when a cap is used up.
var ErrExhausted = errors.New("aggregate: exhausted")

// rule decides single queries. A session first calls draw, which reads no votes, and then decide, which
// draws nothing.
type rule interface {
	// noise returns the name and the parameters of the noise, from which its key derives.
	noise() (name string, params []uint64)
	draw(noise []int64, s *rng.Stream, classes int) []int64 // appends to noise
	decide(counts, noise []int64) Answer
}

// single is a mechanism that always answers, and whose only parameters are one noise and a cap on questions.
type single struct {
	rule
	cost    accountant.Event // of one question, for exactly the noise that is sampled
	queries int
}

// Event implements [Mechanism].
func (m *single) Event() accountant.Event {
	return accountant.Repeated{Event: m.cost, Count: int64(m.queries)}
}

// Start implements [Mechanism].
func (m *single) Start(r *ledger.Reservation, key rng.Key) (Session, error) {
	return start(m, m.rule, r, key, m.queries, m.queries)
}

// noisyCounts answers with the class whose count plus noise is largest.
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

// drawEach appends the noise of each class, in order.
func drawEach(noise []int64, classes int, d interface{ Sample(*rng.Stream) int64 }, s *rng.Stream) []int64 {
	for range classes {
		noise = append(noise, d.Sample(s))
	}
	return noise
}

// argmax returns the lowest index at which counts plus noise is largest.
func argmax(counts, noise []int64) int {
	best := 0
	for i := range counts {
		if counts[i]+noise[i] > counts[best]+noise[best] {
			best = i
		}
	}
	return best
}

// sampler returns Gaussian noise for a field of a config; errors contain the field's name.
func sampler(field string, sigma float64) (*rng.DiscreteGaussian, error) {
	d, err := rng.NewDiscreteGaussian(sigma)
	if err != nil {
		return nil, fmt.Errorf("aggregate: %s (standard deviation of the noise, in votes): %w", field, err)
	}
	return d, nil
}

// laplaceNoiseFor returns the noise of a mechanism whose parameters are Scale and Queries.
func laplaceNoiseFor(scale float64, queries int) (*rng.DiscreteLaplace, error) {
	d, err := rng.NewDiscreteLaplace(scale)
	if err != nil {
		return nil, fmt.Errorf("aggregate: Scale (of the noise, in votes): %w", err)
	}
	return d, checkCap("Queries", queries, maxQueries)
}

// checkCap reports a cap outside [1, limit].
func checkCap(field string, n, limit int) error {
	if n < 1 {
		return fmt.Errorf("aggregate: %s must be at least 1, not %d: it is what will be charged for", field, n)
	}
	if n > limit {
		return fmt.Errorf("aggregate: %s must be at most %d, not %d", field, limit, n)
	}
	return nil
}

// maxQueries keeps counts of queries exact in float64.
const maxQueries = min(1<<53, math.MaxInt)
