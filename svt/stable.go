package svt

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// Answer is released for one query: a value, or a refusal.
type Answer[T any] struct {
	Value    T
	Released bool // false: refused, Value is zero
}

// A StableMechanism releases stable answers and pays for refusals: [*StableSVT] and [*MSvec].
type StableMechanism interface {
	// Event returns the worst case of a whole run.
	Event() accountant.Event
	// Law returns the law of a run with value = -distance and above = refused.
	Law() Law
	// LawAt returns the exact log probabilities that an answer at this distance is released, and refused.
	LawAt(distance int64) (released, refused float64)

	sampled() drawn
	identity() (name string, params []uint64)
}

// StableSession is a run that releases stable answers. It is safe for concurrent use. If
// threshold noise is drawn again, answers depend on the order of the queries.
type StableSession[T any] struct{ run run[Answer[T]] }

// Start begins a run of m. It fails unless r charges exactly m.Event() and was not used before.
func Start[T any](m StableMechanism, r *ledger.Reservation, key rng.Key) (*StableSession[T], error) {
	l := m.Law()
	s := &StableSession[T]{run[Answer[T]]{drawn: m.sampled(), threshold: int64(l.Threshold), stop: l.Stop, refresh: l.Refresh}}
	name, params := m.identity()
	return s, s.run.start(m.Event(), r, key, name, params...)
}

// Ask releases value if its distance to instability passes the noisy test. The distance must change by at
// most 1 between neighbours, and must be at most 0 for both if their values differ, as with
// stability.Plurality. Query numbers are public and unique in the run. A query that was asked before gets the
// stored answer, whatever value is. When the run has stopped, the error is [ErrExhausted].
func (s *StableSession[T]) Ask(query uint64, value T, distance int64) (Answer[T], error) {
	return s.run.ask(query, -max(distance, -1<<60), func(refused bool) Answer[T] {
		if refused {
			return Answer[T]{}
		}
		return Answer[T]{Value: value, Released: true}
	})
}

// Left returns how many more queries may be refused.
func (s *StableSession[T]) Left() int { return s.run.left() }

// Releasable reports whether the noise is secret, so that answers may leave.
func (s *StableSession[T]) Releasable() bool { return s.run.key.Releasable() }

// DistanceFor returns the least distance at which an answer is released with at least the
// given probability. For a run of n queries that ends with all answered, take a
// probability of 1 - Failures/(2n): refusals of stable queries use up the run too.
func DistanceFor(m StableMechanism, probability float64) (int64, error) {
	if !(probability >= 0 && probability <= 1-1e-12) {
		return 0, fmt.Errorf("svt: a probability of release must be in [0, 1 - 1e-12], not %g", probability)
	}
	enough := func(d int64) bool { _, refused := m.LawAt(d); return refused <= math.Log1p(-probability) }
	return mathx.Least(enough), nil
}
