package svt

import (
	"errors"
	"fmt"
	"sync"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

// ErrExhausted is returned when a run has stopped.
var ErrExhausted = errors.New("svt: exhausted")

// run draws from a Law, for the sessions of this package. It keeps answers of type A, so that a query asked
// again gets the same answer.
type run[A any] struct {
	drawn
	key       rng.Key
	threshold int64
	stop      int
	refresh   bool

	mu      sync.Mutex
	above   int   // so far
	rho     int64 // the threshold noise in use
	answers map[uint64]A
}

// start checks the key and the charge, and only then draws the threshold noise, whatever will be asked.
func (u *run[A]) start(event accountant.Event, r *ledger.Reservation, key rng.Key, name string, params ...uint64) error {
	if key.IsZero() {
		return errors.New("svt: zero Key: make one with NewKey or SeedKey")
	}
	if err := r.Begin(event, ledger.Use{Secret: key.Releasable()}); err != nil {
		return fmt.Errorf("svt: starting: %w", err)
	}
	key = key.Derive(name, params...)
	if n := r.Entry(); n > 1 { // two charges never meet the same noise
		key = key.Derive("entry", uint64(n))
	}
	u.charged(key)
	return nil
}

// charged begins a run under the key of its noise.
func (u *run[A]) charged(key rng.Key) {
	u.key = key
	u.rho = u.thresholdNoise(u.key.Derive("threshold", 0).Stream())
	u.answers = make(map[uint64]A)
}

// ask compares a value with the threshold, or finds the answer given before.
func (u *run[A]) ask(query uint64, value int64, answer func(above bool) A) (A, error) {
	nu := u.queryNoise(u.key.Derive("query", query).Stream()) // noise first
	value = min(max(value, -1<<60), 1<<60)                    // changes no difference by more than it was

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

// left returns how many queries may still be above.
func (u *run[A]) left() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.stop - u.above
}

// drawn is a law whose noise can be drawn.
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

// Law returns the law of a run, of stable answers with value = -distance and above = refused.
func (d drawn) Law() Law { return d.law }

func (d drawn) sampled() drawn { return d }
