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

// Validate implements Event.
func (e Composed) Validate() error { return validTree(e, 0) }

type composedRow struct {
	unsupported
	Composed
}

func (e Composed) row() row { return composedRow{unsupported{e}, e} }

func (composedRow) name() string                   { return "composed" }
func (composedRow) words(printer) (string, string) { return "", "" }
func (r composedRow) children() []Event            { return r.Events }
func (r composedRow) describe(p printer) []Part    { return describeAll(r.Events, p) }

func (r composedRow) flatten(t *terms, count int64, rel Relation) error {
	for _, inner := range r.Events {
		if err := t.flatten(inner, count, rel); err != nil {
			return err
		}
	}
	return nil
}

func (r composedRow) group(n int64) (Event, error) {
	out := Composed{make([]Event, len(r.Events))}
	for i, inner := range r.Events {
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

// Validate implements Event.
func (e Repeated) Validate() error { return validTree(e, 0) }

type repeatedRow struct {
	unsupported
	Repeated
}

func (e Repeated) row() row { return repeatedRow{unsupported{e}, e} }

func (repeatedRow) name() string                   { return "repeated" }
func (repeatedRow) words(printer) (string, string) { return "", "" }
func (r repeatedRow) children() []Event            { return []Event{r.Event} }
func (r repeatedRow) check() error                 { return atLeast("repeated", "count", r.Count, 0) }

func (r repeatedRow) describe(p printer) []Part {
	parts := r.Event.row().describe(p)
	for i := range parts {
		n, err := mul(parts[i].Count, r.Count)
		if err != nil {
			n = math.MaxInt64 // far beyond what any budget holds
		}
		parts[i].Count = n
	}
	return parts
}

func (r repeatedRow) flatten(t *terms, count int64, rel Relation) error {
	n, err := mul(count, r.Count)
	if err != nil {
		return err
	}
	return t.flatten(r.Event, n, rel)
}

func (r repeatedRow) group(n int64) (Event, error) {
	inner, err := grouped(r.Event, n)
	return Repeated{inner, r.Count}, err
}

// WithFailure is Event, except with probability at most Delta, when anything
// may be revealed. It holds a mechanism whose laws on any two neighbouring data
// sets, given what was answered before, are
//
//	P = (1-Delta) P' + Delta B   and   Q = (1-Delta) Q' + Delta C
//
// with P' and Q' within the curve of Event in both orders, and any B and C. Then
// P(S) <= Delta + (1-Delta) (e^epsilon Q'(S) + delta') <= e^epsilon Q(S) + delta' + Delta
// wherever Event is (epsilon, delta')-private, and failures of several mechanisms add
// up, because the coins that choose between the parts are independent of P' and Q'.
//
// Every mechanism that is (epsilon, Delta)-private in both directions is one, with
// Event PureDP{epsilon}: its two laws are one randomised function of the pair
// that reveals the data with probability Delta and else is the randomised response of
// epsilon (Kairouz, Oh, Viswanath 2015). No set of outputs needs to be the failure:
// a mechanism may put the mass Delta on an output that it also gives otherwise.
type WithFailure struct {
	Event Event   `json:"event"`
	Delta float64 `json:"delta"` // in [0, 1)
}

// Validate implements Event.
func (e WithFailure) Validate() error { return validTree(e, 0) }

type withFailureRow struct {
	unsupported
	WithFailure
}

func (e WithFailure) row() row { return withFailureRow{unsupported{e}, e} }

func (withFailureRow) name() string        { return "with_failure" }
func (r withFailureRow) children() []Event { return []Event{r.Event} }

func (r withFailureRow) words(p printer) (mechanism, parameters string) {
	return "that may fail", "δ " + p.claim(r.Delta)
}

func (r withFailureRow) check() error {
	if !(r.Delta >= 0 && r.Delta < 1) {
		return fmt.Errorf("%w: with_failure: delta must be in [0, 1), got %v", ErrInvalidEvent, r.Delta)
	}
	return nil
}

func (r withFailureRow) flatten(t *terms, count int64, rel Relation) error {
	if err := errors.Join(t.fail(r.Delta, count), t.stated.add(r.Delta, count)); err != nil {
		return err
	}
	return t.flatten(r.Event, count, rel)
}

func (r withFailureRow) guarantee() (guarantee, bool) {
	one, ok := guaranteeAnywhere(r.Event)
	if r.Delta > 0 {
		// Both parts of the law together: at most the sum is bad.
		one.delta = math.Min(1, sumUp(one.delta, r.Delta))
	}
	return one, ok
}
