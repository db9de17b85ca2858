package accountant

import (
	"errors"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// Composed is the adaptive composition of events, in order.
type Composed struct {
	Events []Event `json:"events"`
}

func (Composed) row() row { return row{"composed", "", "", bounded} }

func (e Composed) flatten(t *terms, count int64) {
	for _, inner := range e.Events {
		t.flatten(inner, count)
	}
}

func (e Composed) group(n int64) (Event, error) {
	out := Composed{make([]Event, len(e.Events))}
	for i, inner := range e.Events {
		var err error
		if out.Events[i], err = grouped(inner, n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Repeated is Event run Count times, adaptively.
type Repeated struct {
	Event Event `json:"event"`
	Count int64 `json:"count" in:"0"` // >= 0
}

func (Repeated) row() row { return row{"repeated", "", "", bounded} }

func (e Repeated) flatten(t *terms, count int64) { t.flatten(e.Event, t.times(count, e.Count)) }

func (e Repeated) group(n int64) (Event, error) {
	inner, err := grouped(e.Event, n)
	return Repeated{inner, e.Count}, err
}

// WithFailure is Event, except with probability at most Delta, when anything may be revealed. It holds a
// mechanism whose laws on any two neighbouring data sets, given the answers before, are
//
//	P = (1-Delta) P' + Delta B   and   Q = (1-Delta) Q' + Delta C
//
// with P' and Q' within the curve of Event in both orders, and any B and C. Then P(S) <= Delta + (1-Delta)
// (e^epsilon Q'(S) + delta') <= e^epsilon Q(S) + delta' + Delta wherever Event is (epsilon,
// delta')-private, and failures of several mechanisms add up, because the coins that choose between the
// parts are independent of P' and Q'.
//
// Every mechanism that is (epsilon, Delta)-private in both directions is one, with Event PureDP{epsilon}:
// its two laws are one randomised function of the pair that reveals the data with probability Delta and
// else is the randomised response of epsilon (Kairouz, Oh, Viswanath 2015). No set of outputs needs to be
// the failure: a mechanism may put the mass Delta on an output that it also gives otherwise.
type WithFailure struct {
	Event Event   `json:"event"`
	Delta float64 `json:"delta" in:"[0, 1)"` // in [0, 1)
}

func (WithFailure) row() row { return row{"with_failure", "that may fail", "δ {^delta}", bounded} }

func (e WithFailure) flatten(t *terms, count int64) {
	t.check(errors.Join(t.fail(e.Delta, count), t.stated.add(e.Delta, count)))
	t.flatten(e.Event, count)
}

func (e WithFailure) guarantee() (guarantee, bool) {
	one, ok := guaranteeAnywhere(e.Event)
	if e.Delta > 0 {
		// Both parts of the law together: at most the sum is bad.
		one.delta = math.Min(1, mathx.SumUp(one.delta, e.Delta))
	}
	return one, ok
}
