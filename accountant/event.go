package accountant

import (
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
)

// An Event says completely what was run on the private data: which mechanism,
// with which parameters, how often. It is data, never behaviour: an accountant
// interprets it, and an auditor can re-interpret it later. The set is closed;
// an accountant that cannot hold an event answers ErrUnsupportedEvent and never
// guesses. The meaning of a field never changes.
//
// Noise multipliers are noise standard deviation (Gaussian) or scale (Laplace)
// divided by the sensitivity under the relation of the account. PATE events
// are per vote count, under "one vote moves" (one record changes at most one
// teacher, hence at most one vote of a query), which holds for both record
// relations.
//
// An event alone does not know its name in JSON: use MarshalEvent,
// UnmarshalEvent or a Schedule, not encoding/json directly.
type Event interface {
	// Validate reports the first parameter that is out of range.
	Validate() error
	row() row
}

// A row is all that the accountants know about one event. Each is written beside its
// type and embeds unsupported, so that what it does not say is refused, by every
// accountant. A new event is a type with its row, and a line in allEvents.
type row interface {
	// name returns the type in JSON.
	name() string
	// words names the mechanism and its parameters for people. Those of an event
	// around another one are added to the words of that one.
	words(p printer) (mechanism, parameters string)
	// describe returns the mechanisms that the event runs, in words; a row says words, and
	// describe only where these are not added to those inside.
	describe(p printer) []Part
	// check reports the first parameter of its own that is out of range.
	check() error
	// children returns the events inside.
	children() []Event

	// relation returns the only relation that the event is defined for, 0 if any.
	relation() Relation
	// flatten adds count runs to t, as one leaf or as whatever the event is made of.
	flatten(t *terms, count int64, rel Relation) error
	// curve returns the divergence of a leaf, infinite if nothing is known.
	curve() curve
	// sampledAs returns the noise or the PureDP event that dominates a leaf on a sample
	// too, and whether it costs no more than the leaf; nil if there is none.
	sampledAs() (inner Event, same bool)
	// sampledCurve returns the divergence of such noise on a Poisson sample.
	sampledCurve(q float64) curve
	// guarantee returns the (epsilon, delta) of one run.
	guarantee() (guarantee, bool)
	// rho returns the zCDP parameter of a leaf, rounded up, NaN if it has none but
	// that of its guarantee.
	rho() float64
	// twice returns the event of which two runs, adaptively, cost no less; nil if
	// there is none.
	twice() Event
	// group returns the event as n records see it, n > 1; nil if only its guarantee
	// can be scaled.
	group(n int64) (Event, error)

	// pair returns a pair of laws that dominates one run of a leaf.
	pair() (pld.Pair, error)
	// pairs adds pairs that dominate n runs of a leaf: n of pair, unless the row knows others.
	pairs(s *pld.Sum, n int64) error
	// attained adds a pair that some mechanism described by the leaf attains. It
	// reports whether that is the dominating pair itself, which it then does not
	// add. A row that says nothing adds nothing: no lower bound follows from it.
	attained(s *pld.Sum, n int64) (dominating bool)
}

// printer shows the numbers of words: parameters, and parts of a claim, which are
// rounded up.
type printer struct{ number, claim func(x float64) string }

// unsupported is the row that knows nothing. Rows embed it with their event.
type unsupported struct{ event Event }

func (unsupported) check() error       { return nil }
func (unsupported) children() []Event  { return nil }
func (unsupported) relation() Relation { return 0 }
func (unsupported) curve() curve       { return infiniteCurve }
func (unsupported) rho() float64       { return math.NaN() }
func (unsupported) twice() Event       { return nil }

func (unsupported) sampledAs() (inner Event, same bool) { return nil, false }
func (unsupported) guarantee() (guarantee, bool)        { return guarantee{}, false }
func (unsupported) group(int64) (Event, error)          { return nil, nil }

func (unsupported) sampledCurve(float64) curve { return infiniteCurve }

func (u unsupported) pair() (pld.Pair, error) {
	return pld.Pair{}, &UnsupportedEventError{u.event, "no dominating pair is known for it"}
}

func (u unsupported) pairs(s *pld.Sum, n int64) error {
	pair, err := u.event.row().pair()
	if err == nil {
		s.Add(pair, n)
	}
	return err
}

func (unsupported) attained(*pld.Sum, int64) (dominating bool) { return false }

// leaf is the base of rows whose event is a single mechanism with a curve.
type leaf struct{ unsupported }

func leafOf(e Event) leaf { return leaf{unsupported{e}} }

func (l leaf) flatten(t *terms, count int64, rel Relation) error {
	return t.curves.add(l.event, count)
}

// typeName returns the JSON type of an event.
func typeName(e Event) string {
	if e == nil {
		return "<nil>"
	}
	return e.row().name()
}
