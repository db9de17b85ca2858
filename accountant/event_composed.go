package accountant

import (
	"errors"
	"fmt"
	"math"
)

// Composed is the adaptive composition of events, in order.
type Composed struct {
	Events []Event `json:"events"`
}

func (Composed) name() string                   { return "composed" }
func (Composed) words(printer) (string, string) { return "", "" }
func (e Composed) children() []Event            { return e.Events }

func (e Composed) flatten(t *terms, count int64, rel Relation) error {
	for _, inner := range e.Events {
		if err := t.flatten(inner, count, rel); err != nil {
			return err
		}
	}
	return nil
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
	Count int64 `json:"count"` // >= 0
}

func (Repeated) name() string                   { return "repeated" }
func (Repeated) words(printer) (string, string) { return "", "" }
func (e Repeated) children() []Event            { return []Event{e.Event} }
func (e Repeated) check() error                 { return atLeast("repeated", "count", e.Count, 0) }

func (e Repeated) flatten(t *terms, count int64, rel Relation) error {
	n, err := mul(count, e.Count)
	if err != nil {
		return err
	}
	return t.flatten(e.Event, n, rel)
}

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
	Delta float64 `json:"delta"` // in [0, 1)
}

func (WithFailure) name() string        { return "with_failure" }
func (e WithFailure) children() []Event { return []Event{e.Event} }

func (e WithFailure) words(p printer) (mechanism, parameters string) {
	return "that may fail", "δ " + p.claim(e.Delta)
}

func (e WithFailure) check() error {
	if !(e.Delta >= 0 && e.Delta < 1) {
		return fmt.Errorf("%w: with_failure: delta must be in [0, 1), got %v", ErrInvalidEvent, e.Delta)
	}
	return nil
}

func (e WithFailure) flatten(t *terms, count int64, rel Relation) error {
	if err := errors.Join(t.fail(e.Delta, count), t.stated.add(e.Delta, count)); err != nil {
		return err
	}
	return t.flatten(e.Event, count, rel)
}

func (e WithFailure) guarantee() (guarantee, bool) {
	one, ok := guaranteeAnywhere(e.Event)
	if e.Delta > 0 {
		// Both parts of the law together: at most the sum is bad.
		one.delta = math.Min(1, sumUp(one.delta, e.Delta))
	}
	return one, ok
}
