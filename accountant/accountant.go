package accountant

import (
	"cmp"
	"context"
	"fmt"
)

// An Accountant keeps the events of one run and answers what they cost together. Answers are pure functions
// of the events composed so far: asking changes nothing. Implementations are not safe for concurrent use.
type Accountant interface {
	// Compose adds count runs of e, adaptively composed with all before. The whole tree is checked first;
	// on an error nothing has been added. An event it cannot hold gives an *UnsupportedEventError.
	Compose(e Event, count int64) error
	// Epsilon bounds the epsilon of everything composed, at delta in [0, 1). Upper is +Inf, without an
	// error, when no finite epsilon is known.
	Epsilon(ctx context.Context, delta float64) (Bound, error)
	// Delta bounds the delta of everything composed, at a finite epsilon >= 0.
	Delta(ctx context.Context, epsilon float64) (Bound, error)
}

// Bound is an answer with the side it errs on. Upper is the claim, rounded outwards; the true value lies in
// [Lower, Upper].
type Bound struct {
	Lower, Upper float64

	Order        float64    // the order used by a Rényi accountant, +Inf for the pure bound; 0 when none was
	Conversion   Conversion // how the Rényi curve became Upper
	FailureDelta float64    // the part of delta that failure events took
	AtGridEdge   bool       // Order is the smallest or largest order tried: a wider grid may do better

	// Floor, of privacy loss distributions alone, bounds from below what the dominating pairs cost,
	// attained or not: Upper - Floor is the numerical error of Upper.
	Floor      float64
	GapReached bool // Upper - Floor is within the gap asked for
	Points     int  // of the longest window convolved, 0 for a closed form
}

// Relation is the meaning of neighbouring data sets.
type Relation int

const (
	// AddRemove neighbours differ by the presence of one record.
	AddRemove Relation = iota + 1
	// ReplaceOne neighbours differ by the content of one record.
	ReplaceOne
)

var relationNames = names[Relation]{AddRemove: "add_remove", ReplaceOne: "replace_one"}

// String returns the name used in JSON.
func (r Relation) String() string {
	return cmp.Or(relationNames[r], fmt.Sprintf("Relation(%d)", int(r)))
}

// MarshalText implements encoding.TextMarshaler.
func (r Relation) MarshalText() ([]byte, error) { return relationNames.marshal(r, "relation") }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Relation) UnmarshalText(text []byte) error {
	if !relationNames.unmarshal(text, r) {
		return fmt.Errorf("accountant: relation %q is neither add_remove nor replace_one", text)
	}
	return nil
}
