package accountant

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/pate-go/pate/internal/mathx"
)

type terms struct {
	curves   tally[Event] // leaves, all comparable
	failures tally[float64]
	stated   tally[float64] // failures of WithFailure, which some mechanism attains
	rel      Relation
	err      error // first error; if it is set, the other fields are invalid
}

// flatten adds the simpler events of an event to t, count times. An event without flatten is a leaf.
type flattened interface{ flatten(t *terms, count int64) }

type tally[K comparable] struct{ mathx.Multiset[K] }

func (t *tally[K]) add(k K, n int64) error {
	if e, ok := any(k).(Event); ok && n != 0 && !reflect.ValueOf(e).Comparable() {
		// An event that holds a list has no rule in this accountant.
		return &UnsupportedEventError{e, "this accountant has no rule for it"}
	}
	if !t.Add(k, n) {
		return errTooMany
	}
	return nil
}

var errTooMany = fmt.Errorf("%w: more than %d runs of one event", ErrInvalidEvent, int64(math.MaxInt64))

func mul(a, b int64) (int64, error) {
	n, ok := mathx.MulCounts(a, b)
	if !ok {
		return 0, errTooMany
	}
	return n, nil
}

func parse(e Event, count int64, rel Relation) (terms, error) {
	added := terms{rel: rel}
	added.check(validTree(e, 0))
	added.check(atLeast("compose", "count", count, 0))
	added.flatten(e, count)
	return added, added.err
}

func (t *terms) fits(added *terms) bool {
	return t.curves.Fits(&added.curves.Multiset) && t.failures.Fits(&added.failures.Multiset)
}

func (t *terms) merge(added *terms) {
	t.curves.Merge(&added.curves.Multiset)
	t.failures.Merge(&added.failures.Multiset)
	t.stated.Merge(&added.stated.Multiset)
}

// slack bounds relative rounding errors of curves, products and sums. In tests, the errors of curves are
// below 1e-12.
const slack = 2e-12

func (t *terms) total() curve {
	curves := make([]curve, len(t.curves.Keys))
	for i, k := range t.curves.Keys {
		curves[i] = curveOf(k)
	}
	counts := t.curves.Counts
	return func(a float64) float64 {
		sum := 0.0
		for i, c := range curves {
			sum += float64(counts[i]) * c(a)
		}
		if math.IsNaN(sum) { // no parameter in range is known to cause this
			return math.Inf(1)
		}
		return sum * (1 + slack)
	}
}

func (t *terms) failure() float64 {
	sum := 0.0
	for i, d := range t.failures.Keys {
		sum = mathx.Up(sum + mathx.Up(float64(t.failures.Counts[i])*d))
	}
	return math.Min(1, sum)
}

func (t *terms) flatten(e Event, count int64) {
	rule, ok := e.(flattened)
	switch {
	case t.err != nil:
	case ok:
		rule.flatten(t, count)
	default:
		t.add(e, count)
	}
}

func (t *terms) alone(e Event, count int64) *terms {
	inner := &terms{rel: t.rel, err: t.err}
	inner.flatten(e, count)
	t.check(inner.err)
	return inner
}

func (t *terms) check(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *terms) refuse(e Event, reason string) { t.check(&UnsupportedEventError{e, reason}) }

func (t *terms) times(a, b int64) int64 {
	n, err := mul(a, b)
	t.check(err)
	return n
}

func (t *terms) add(leaf Event, count int64) {
	if t.err == nil {
		t.err = t.curves.add(leaf, count)
	}
}

func (t *terms) fail(delta float64, count int64) error {
	if delta == 0 {
		return nil
	}
	return t.failures.add(delta, count)
}

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

// Repeated is Count adaptive runs of Event.
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

// Every mechanism that is (epsilon, Delta)-private in both directions has this form, with Event
// PureDP{epsilon}. Such a mechanism is post-processing of a simpler mechanism (Kairouz, Oh, Viswanath 2015).
// The simpler mechanism reveals the data with probability Delta, and otherwise is the randomised response of
// epsilon. A failure need not be visible: the mass Delta may be on an output that also occurs without
// failure.

// WithFailure runs Event, but may reveal all data with probability Delta. Let P and Q be the output
// distributions on any two neighbouring data sets, given the earlier outputs. Then
//
//	P = (1-Delta) P' + Delta B   and   Q = (1-Delta) Q' + Delta C
//
// with arbitrary B and C. The divergences of P' and Q' in both directions are at most the curve of Event. If
// Event is (epsilon, delta')-private, then
//
//	P(S) <= Delta + (1-Delta) (e^epsilon Q'(S) + delta') <= e^epsilon Q(S) + delta' + Delta
//
// In a composition, each mechanism chooses its part of P (or Q) by an independent coin. So the failure
// probabilities add up.
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
		// The probability of either failure is at most the sum.
		one.delta = math.Min(1, mathx.SumUp(one.delta, e.Delta))
	}
	return one, ok
}
