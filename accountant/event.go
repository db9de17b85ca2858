package accountant

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// An Event describes one private computation: the mechanism, its parameters and the number of runs. An
// accountant computes the cost of an event. The set of event types is closed, and the meaning of a field
// never changes. If an accountant does not support an event, it returns an error that matches
// ErrUnsupportedEvent.
//
// A noise multiplier is the standard deviation (Gaussian) or scale (Laplace) of the noise, divided by the
// sensitivity. The sensitivity depends on the relation of the account. For PATE events, noise is in units of
// one vote. PATE events assume that one record changes at most one teacher, under either relation. So one
// record changes at most one vote of a query.
//
// An Event has no JSON form of its own. Use MarshalEvent, UnmarshalEvent or a Schedule, not encoding/json.
type Event interface {
	row() row
}

type row struct {
	name string // in JSON
	// mechanism and parameters are templates for printed text. "{field}" stands for the value of a field, and
	// "{^field}" for this value rounded up. "{discrete}" becomes the word "discrete" or nothing.
	mechanism, parameters string
	attained              bool // some mechanism that the event describes attains the dominating pair
}

const attained, bounded = true, false

// These interfaces are optional for an event. A new event type needs an entry in allEvents.
type (
	checked interface{ check() error }
	curved  interface{ curve() curve }
	// sampledAs returns the event `inner`, additive noise or PureDP. Within a sampling event, `inner`
	// replaces the receiver. Sampled or not, the receiver costs no more than `inner`. If `same` is true, the
	// costs are equal.
	sampleable interface {
		sampledAs() (inner Event, same bool)
	}
	sampledNoise interface{ sampledCurve(q float64) curve }
	// group returns the event for neighbours that differ in n > 1 records. If an event lacks this method, or
	// if the result is nil, the event's (epsilon, delta) is scaled to the group.
	groupable interface {
		group(n int64) (Event, error)
	}
	// pair returns a pair of distributions that dominates one run of the event.
	paired interface{ pair() (pld.Pair, error) }
	// pairs adds to s several pairs of distributions that together dominate n runs of the event.
	severalPairs interface {
		pairs(s *pld.Sum, n int64) error
	}
	// attained adds pairs of distributions to s, to bound the cost of n runs from below. If some mechanism
	// that the event describes attains the dominating pair, attained adds nothing and returns true.
	attaining interface {
		attained(s *pld.Sum, n int64) (dominating bool)
	}
)

func typeName(e Event) string {
	if e == nil {
		return "<nil>"
	}
	return e.row().name
}

func fieldKey(f reflect.StructField) (key string, optional bool) {
	return strings.CutSuffix(f.Tag.Get("json"), ",omitempty")
}

func children(e Event) (inside []Event) {
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() != reflect.Interface && f.Kind() != reflect.Slice || !f.CanInterface() { // unexported field of an internal leaf
			continue
		}
		switch inner := f.Interface().(type) {
		case []Event:
			inside = append(inside, inner...)
		case Event:
			inside = append(inside, inner)
		case nil:
			inside = append(inside, nil)
		}
	}
	return inside
}

func curveOf(e Event) curve {
	if leaf, ok := e.(curved); ok {
		return leaf.curve()
	}
	return infiniteCurve
}

func sampledAs(e Event) (inner Event, same bool) {
	if leaf, ok := e.(sampleable); ok {
		return leaf.sampledAs()
	}
	return nil, false
}

func pairOf(e Event) (pld.Pair, error) {
	if leaf, ok := e.(paired); ok {
		return leaf.pair()
	}
	return pld.Pair{}, &UnsupportedEventError{e, "no dominating pair is known for it"}
}

func addPairs(s *pld.Sum, e Event, n int64) error {
	if leaf, ok := e.(severalPairs); ok {
		return leaf.pairs(s, n)
	}
	pair, err := pairOf(e)
	if err == nil {
		s.Add(pair, n)
	}
	return err
}

func addAttained(s *pld.Sum, e Event, n int64) (dominating bool) {
	if leaf, ok := e.(attaining); ok {
		return leaf.attained(s, n)
	}
	return e.row().attained
}

var ErrInvalidEvent = errors.New("accountant: invalid event")

const maxDepth = 64

func Validate(e Event) error { return validTree(e, 0) }

func validTree(e Event, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: nested more than %d deep", ErrInvalidEvent, maxDepth)
	}
	if e == nil {
		return fmt.Errorf("%w: missing (nil)", ErrInvalidEvent)
	}
	if err := check(e); err != nil {
		return err
	}
	for i, inner := range children(e) {
		err := validTree(inner, depth+1)
		if err != nil && reflect.ValueOf(e).Field(0).Kind() == reflect.Slice {
			return fmt.Errorf("%s, events[%d]: %w", typeName(e), i, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func check(e Event) error {
	// The struct tag "in" is the range of a field, or the minimum of an integer. The tag "atleast" names
	// another field whose value is also a minimum. If a field tagged "alone" is invalid, later fields are not
	// checked.
	var wrong []error
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() != reflect.Int64 && f.Kind() != reflect.Float64 {
			continue
		}
		tag := v.Type().Field(i).Tag
		in := tag.Get("in")
		if in == "" {
			continue
		}
		var err error
		if f.Kind() == reflect.Int64 {
			least, _ := strconv.ParseInt(in, 10, 64)
			if other := tag.Get("atleast"); other != "" {
				least = max(least, v.FieldByName(other).Int())
			}
			err = atLeast(typeName(e), tag.Get("json"), f.Int(), least)
		} else {
			err = within(typeName(e), tag.Get("json"), in, f.Float())
		}
		if err != nil {
			wrong = append(wrong, err)
			if tag.Get("alone") != "" {
				return err
			}
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	if own, ok := e.(checked); ok {
		return own.check()
	}
	return nil
}

func within(event, field, in string, x float64) error {
	must, ok := "must be in "+in, false
	switch in {
	case ">0":
		must, ok = "must be a finite number above 0", x > 0 && mathx.IsFinite(x)
	case ">=0":
		must, ok = "must be a finite number, at least 0", x >= 0 && mathx.IsFinite(x)
	case ">-1":
		must, ok = "must be a finite number above -1", x > -1 && mathx.IsFinite(x)
	case "(0, 1)":
		ok = x > 0 && x < 1
	case "[0, 1)":
		ok = x >= 0 && x < 1
	case "[0, 1]":
		ok = x >= 0 && x <= 1
	}
	if !ok {
		return fmt.Errorf("%w: %s: %s %s, got %v", ErrInvalidEvent, event, field, must, x)
	}
	return nil
}

func atLeast(event, field string, x, least int64) error {
	if x < least {
		return fmt.Errorf("%w: %s: %s must be at least %d, got %d", ErrInvalidEvent, event, field, least, x)
	}
	return nil
}

var ErrUnsupportedEvent = errors.New("accountant: unsupported event")

type UnsupportedEventError struct {
	Event  Event
	Reason string
}

func (e *UnsupportedEventError) Error() string {
	return fmt.Sprintf("accountant: %s is unsupported: %s", e.Type(), e.Reason)
}

func (e *UnsupportedEventError) Type() string { return typeName(e.Event) }

func (e *UnsupportedEventError) Is(target error) bool { return target == ErrUnsupportedEvent }
