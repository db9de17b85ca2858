package accountant

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// An Event describes completely one run on the private data: which mechanism, with which parameters, how
// often. It is data, never behaviour: an accountant interprets it, and an auditor can re-interpret it
// later. The set is closed; an accountant that cannot hold an event returns ErrUnsupportedEvent and never
// guesses. The meaning of a field never changes.
//
// Noise multipliers are noise standard deviation (Gaussian) or scale (Laplace) divided by the sensitivity
// under the relation of the account. PATE events are per vote count, under "one vote moves" (one record
// changes at most one teacher, hence at most one vote of a query), which holds for both record relations.
//
// The JSON name is no field of an event: use MarshalEvent, UnmarshalEvent or a Schedule, not encoding/json.
type Event interface {
	row() row
}

// A row is what a type of events is called.
type row struct {
	name string // in JSON
	// mechanism and parameters are for people. Those of an event around another one are added to the ones
	// of the inner one. A field in braces stands for its number, {^field} for a part of a claim, and
	// {discrete} for "discrete " or nothing.
	mechanism, parameters string
	attained              bool // the dominating pair, by some mechanism that the event describes
}

const attained, bounded = true, false

// The methods that an event may have besides, called by the functions below and in properties.go. Every
// accountant refuses an event without the methods that it needs. A new event is a type with its methods and
// a line in allEvents.
type (
	// check reports what is out of range beside the ranges of the tags of fields.
	checked interface{ check() error }
	// flatten adds count runs to t as other events or as a leaf. An event without it is a leaf.
	flattened interface{ flatten(t *terms, count int64) }
	// curve returns the divergence of a leaf.
	curved interface{ curve() curve }
	// sampledAs returns the noise or the PureDP event that dominates a leaf on a sample too, and whether it
	// costs no more than the leaf.
	sampleable interface {
		sampledAs() (inner Event, same bool)
	}
	// sampledCurve returns the divergence of such noise on a Poisson sample.
	sampledNoise interface{ sampledCurve(q float64) curve }
	// guarantee returns the (epsilon, delta) of one run.
	guaranteed interface{ guarantee() (guarantee, bool) }
	// rho returns the zCDP parameter of a leaf, rounded up; without it the rho of its guarantee counts.
	concentrated interface{ rho() float64 }
	// group returns the event as n > 1 records see it; without it, or if it returns nil, the guarantee is
	// scaled.
	groupable interface {
		group(n int64) (Event, error)
	}
	// pair returns a pair of laws that dominates one run of a leaf.
	paired interface{ pair() (pld.Pair, error) }
	// pairs adds pairs that dominate n runs of a leaf, where these are not n of pair.
	severalPairs interface {
		pairs(s *pld.Sum, n int64) error
	}
	// attained adds a pair that some mechanism described by the leaf attains. It reports whether this is
	// the dominating pair itself, which it then does not add.
	attaining interface {
		attained(s *pld.Sum, n int64) (dominating bool)
	}
)

// typeName returns the JSON type of an event.
func typeName(e Event) string {
	if e == nil {
		return "<nil>"
	}
	return e.row().name
}

// fieldKey returns the name of a field, and whether its zero value is left out.
func fieldKey(f reflect.StructField) (key string, optional bool) {
	return strings.CutSuffix(f.Tag.Get("json"), ",omitempty")
}

// children returns the events inside of one.
func children(e Event) (inside []Event) {
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() { // a leaf that an account made
			continue
		}
		switch inner := v.Field(i).Interface().(type) {
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

// sampledAs returns nil if nothing is known to dominate e on a sample.
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

// addAttained adds nothing for an event without a pair known to be attained: no lower bound follows from
// it.
func addAttained(s *pld.Sum, e Event, n int64) (dominating bool) {
	if leaf, ok := e.(attaining); ok {
		return leaf.attained(s, n)
	}
	return e.row().attained
}

// Part is one kind of release within an event, in words.
type Part struct {
	Mechanism  string `json:"mechanism"`  // in words
	Parameters string `json:"parameters"` // in symbols
	Count      int64  `json:"count"`      // how often it runs
}

// printer shows the numbers of words: parameters, and parts of a claim, which are rounded up.
type printer struct{ number, claim func(x float64) string }

// Describe takes an event apart into the mechanisms that it runs, in words. The functions print numbers:
// number a parameter, claim a part of a claim, which has to be rounded up.
func Describe(e Event, number, claim func(x float64) string) []Part {
	return describe(e, printer{number, claim})
}

func describe(e Event, p printer) (parts []Part) {
	inside := children(e)
	for _, inner := range inside {
		parts = append(parts, describe(inner, p)...)
	}
	own := Part{e.row().mechanism, p.parameters(e), 1}
	switch e := e.(type) {
	case Composed:
	case Repeated:
		for i := range parts {
			n, err := mul(parts[i].Count, e.Count)
			if err != nil {
				n = math.MaxInt64 // beyond every budget
			}
			parts[i].Count = n
		}
	default:
		if len(parts) == 0 && len(inside) == 0 {
			return []Part{own}
		}
		for i := range parts {
			parts[i].Mechanism += ", " + own.Mechanism
			parts[i].Parameters = strings.TrimPrefix(parts[i].Parameters+", "+own.Parameters, ", ")
		}
	}
	return parts
}

// parameters returns the parameters of an event in words.
func (p printer) parameters(e Event) string {
	var words []string
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		key, _ := fieldKey(v.Type().Field(i))
		switch f := v.Field(i); f.Kind() {
		case reflect.Float64:
			words = append(words, "{"+key+"}", p.number(f.Float()), "{^"+key+"}", p.claim(f.Float()))
		case reflect.Int64:
			words = append(words, "{"+key+"}", strconv.FormatInt(f.Int(), 10))
		case reflect.Bool:
			words = append(words, "{"+key+"}", map[bool]string{true: key + " "}[f.Bool()])
		}
	}
	return strings.NewReplacer(words...).Replace(e.row().parameters)
}

// ErrInvalidEvent is returned, wrapped, for an event with a parameter out of range; the message names the
// parameter.
var ErrInvalidEvent = errors.New("accountant: invalid event")

// maxDepth bounds how deep events may be nested, in memory and in JSON.
const maxDepth = 64

// Validate reports the first parameter out of range in an event and the events inside.
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
	_, list := e.(Composed)
	for i, inner := range children(e) {
		err := validTree(inner, depth+1)
		if err != nil && list {
			return fmt.Errorf("composed, events[%d]: %w", i, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check reports the parameters of the event itself that are out of range. The tag in of a field is its
// range: of a whole number the least, which atleast raises to another field. An error of a field that stands
// alone hides those of the fields after it.
func check(e Event) error {
	var wrong []error
	name, v := typeName(e), reflect.ValueOf(e)
	for i := range v.NumField() {
		f, tag := v.Field(i), v.Type().Field(i).Tag
		key, in := tag.Get("json"), tag.Get("in")
		switch {
		case in == "":
			continue
		case f.Kind() == reflect.Int64:
			least, _ := strconv.ParseInt(in, 10, 64)
			if other := tag.Get("atleast"); other != "" {
				least = max(least, v.FieldByName(other).Int())
			}
			wrong = append(wrong, atLeast(name, key, f.Int(), least))
		default:
			wrong = append(wrong, within(name, key, in, f.Float()))
		}
		if err := wrong[len(wrong)-1]; err != nil && tag.Get("alone") != "" {
			return err
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

// within reports a number outside of a range.
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
