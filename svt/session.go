package svt

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// ErrExhausted matches the error of a query after the run has stopped.
var ErrExhausted = errors.New("svt: exhausted")

type run[A any] struct {
	drawn
	key       rng.Key
	threshold int64
	stop      int
	refresh   bool

	mu      sync.Mutex
	above   int   // number of queries above
	rho     int64 // current threshold noise
	answers map[uint64]A
}

func (u *run[A]) start(event accountant.Event, r *ledger.Reservation, key rng.Key, name string, params ...uint64) error {
	if key.IsZero() {
		return errors.New("svt: zero Key: make one with NewKey or SeedKey")
	}
	if err := r.Begin(event, ledger.Use{Secret: key.Releasable()}); err != nil {
		return fmt.Errorf("svt: starting: %w", err)
	}
	key = key.Derive(name, params...)
	if n := r.Entry(); n > 1 { // each charge has its own noise
		key = key.Derive("entry", uint64(n))
	}
	u.charged(key)
	return nil
}

func (u *run[A]) charged(key rng.Key) {
	u.key = key
	u.rho = u.thresholdNoise(u.key.Derive("threshold", 0).Stream())
	u.answers = make(map[uint64]A)
}

func (u *run[A]) ask(query uint64, value int64, answer func(above bool) A) (A, error) {
	nu := u.queryNoise(u.key.Derive("query", query).Stream()) // drawn before any comparison
	value = min(max(value, -1<<60), 1<<60)                    // never increases the difference of two values

	u.mu.Lock()
	defer u.mu.Unlock()
	if a, done := u.answers[query]; done {
		return a, nil
	}
	if u.above == u.stop {
		var none A
		return none, fmt.Errorf("%w: all %d charged for were given", ErrExhausted, u.stop)
	}
	above := value+nu >= u.threshold+u.rho
	if above {
		u.above++
		if u.refresh {
			u.rho = u.thresholdNoise(u.key.Derive("threshold", uint64(u.above)).Stream())
		}
	}
	a := answer(above)
	u.answers[query] = a
	return a, nil
}

func (u *run[A]) Left() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.stop - u.above
}

// Releasable reports whether answers may be released: the noise key must be secret.
func (u *run[A]) Releasable() bool { return u.key.Releasable() }

type drawn struct {
	law                        Law
	thresholdNoise, queryNoise sampler
}

func newDrawn(l Law) (d drawn, err error) {
	d.law = l
	if d.thresholdNoise, err = l.ThresholdNoise.sampler(); err == nil {
		d.queryNoise, err = l.QueryNoise.sampler()
	}
	return d, err
}

// Law returns the distribution of a run. For stable answers, see [StableMechanism].
func (d drawn) Law() Law { return d.law }

func (d drawn) sampled() drawn { return d }

// Answer is the released result of one query: a value or a refusal.
type Answer[T any] struct {
	Value    T
	Released bool // false: the query was refused and Value is zero
}

// A StableMechanism releases stable answers and is charged for refusals. It is a [*StableSVT] or an [*MSvec].
type StableMechanism interface {
	// Event returns the worst-case event of a whole run.
	Event() accountant.Event
	// Law returns the distribution of a run. The value of a query is its negated distance, and "above" means
	// a refusal.
	Law() Law
	// LawAt returns the exact log probabilities of a release and of a refusal at the given distance.
	LawAt(distance int64) (released, refused float64)

	sampled() drawn
	identity() (name string, params []uint64)
}

// StableSession is a run that releases stable answers. Concurrent use is safe. In a run of an [MSvec] the
// answers depend on the order of the queries.
type StableSession[T any] struct{ run[Answer[T]] }

// Start begins a run of m. It fails if r does not charge exactly m.Event(), or if r was used before.
func Start[T any](m StableMechanism, r *ledger.Reservation, key rng.Key) (*StableSession[T], error) {
	l := m.Law()
	s := &StableSession[T]{run[Answer[T]]{drawn: m.sampled(), threshold: int64(l.Threshold), stop: l.Stop, refresh: l.Refresh}}
	name, params := m.identity()
	return s, s.start(m.Event(), r, key, name, params...)
}

// Ask releases `value` if `distance` passes the noisy test. Between neighbours, distance must change by at
// most 1. If the values on two neighbours differ, both distances must be at most 0, as with
// stability.Plurality. Query numbers must be public, with one number per query. For a repeated number, Ask
// returns the stored answer, even if value has changed. After the run stops, the error matches
// [ErrExhausted].
func (s *StableSession[T]) Ask(query uint64, value T, distance int64) (Answer[T], error) {
	return s.ask(query, -max(distance, -1<<60), func(refused bool) Answer[T] {
		if refused {
			return Answer[T]{}
		}
		return Answer[T]{Value: value, Released: true}
	})
}

// DistanceFor returns the least distance with at least the given probability of release. For n queries, use
// the probability 1 - Failures/(2n). Then refusals of stable queries use at most half of Failures on average.
func DistanceFor(m StableMechanism, probability float64) (int64, error) {
	if !(probability >= 0 && probability <= 1-1e-12) {
		return 0, fmt.Errorf("svt: a probability of release must be in [0, 1 - 1e-12], not %g", probability)
	}
	enough := func(d int64) bool { _, refused := m.LawAt(d); return refused <= math.Log1p(-probability) }
	return mathx.Least(enough), nil
}
