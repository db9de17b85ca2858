package accountant

import (
	"errors"
	"fmt"
	"math"
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
	// name returns the type in JSON.
	name() string
	// words names the mechanism and its parameters for people. The words of an event around another one are
	// added to the words of the inner one.
	words(p printer) (mechanism, parameters string)
}

// The methods that an event may have besides, called by the functions below and in properties.go. Every
// accountant refuses an event without the methods that it needs. A new event is a type with its methods and
// a line in allEvents.
type (
	// check reports the first parameter of the event itself that is out of range.
	checked interface{ check() error }
	// children returns the events inside.
	composite interface{ children() []Event }
	// flatten adds count runs to t as other events or as a leaf. An event without it is a leaf.
	flattened interface {
		flatten(t *terms, count int64, rel Relation) error
	}
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
	return e.name()
}

func children(e Event) []Event {
	if outer, ok := e.(composite); ok {
		return outer.children()
	}
	return nil
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
	switch leaf := e.(type) {
	case Gaussian, Laplace, DiscreteGaussian, DiscreteLaplace, PureDP, RandomizedResponse, KaryResponse,
		PoissonSampled, NonPrivate:
		return true
	case attaining:
		return leaf.attained(s, n)
	}
	return false
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
	for _, inner := range children(e) {
		parts = append(parts, describe(inner, p)...)
	}
	mechanism, parameters := e.words(p)
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
		if len(parts) == 0 && len(children(e)) == 0 {
			return []Part{{mechanism, parameters, 1}}
		}
		for i := range parts {
			parts[i].Mechanism += ", " + mechanism
			parts[i].Parameters = strings.TrimPrefix(parts[i].Parameters+", "+parameters, ", ")
		}
	}
	return parts
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
	if own, ok := e.(checked); ok {
		if err := own.check(); err != nil {
			return err
		}
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

func positive(event, field string, x float64) error {
	if !mathx.IsFinite(x) || x <= 0 {
		return fmt.Errorf("%w: %s: %s must be a finite number above 0, got %v", ErrInvalidEvent, event, field, x)
	}
	return nil
}

func nonNegative(event, field string, x float64) error {
	if !mathx.IsFinite(x) || x < 0 {
		return fmt.Errorf("%w: %s: %s must be a finite number, at least 0, got %v", ErrInvalidEvent, event, field, x)
	}
	return nil
}

func atLeast(event, field string, x, least int64) error {
	if x < least {
		return fmt.Errorf("%w: %s: %s must be at least %d, got %d", ErrInvalidEvent, event, field, least, x)
	}
	return nil
}

func isProbability(event string, p float64) error {
	if !(p >= 0 && p <= 1) {
		return fmt.Errorf("%w: %s: probability must be in [0, 1], got %v", ErrInvalidEvent, event, p)
	}
	return nil
}
