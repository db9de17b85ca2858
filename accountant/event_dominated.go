package accountant

import (
	"errors"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant/internal/pld"
)

// dominated is a leaf that was rewritten. The event by costs no less. The event
// alsoCurve, if not nil, costs no less either, and only its Rényi curve is used.
// The rewritten event may cost less than both, so no lower bound follows.
type dominated struct{ by, alsoCurve Event }

// Validate implements Event.
func (dominated) Validate() error { return nil }

type dominatedRow struct {
	leaf
	dominated
}

func (e dominated) row() row { return dominatedRow{leafOf(e), e} }

func (r dominatedRow) name() string {
	switch r.by.(type) {
	case PoissonSampled, RandomAllocation:
		return typeName(r.by)
	}
	return "group"
}

func (dominatedRow) words(printer) (string, string) { return "", "" }
func (r dominatedRow) curve() curve                 { return r.dominated.curve() }
func (r dominatedRow) rho() float64                 { return PropertiesOf(r.by).Rho }

func (r dominatedRow) pairs(s *pld.Sum, n int64) error {
	err := r.by.row().pairs(s, n)
	var unsupported *UnsupportedEventError
	if errors.As(err, &unsupported) {
		return &UnsupportedEventError{r.event, "its divergence is dominated, but no dominating pair is known"}
	}
	return err
}

func (e dominated) curve() curve {
	if e.alsoCurve == nil {
		return curveOf(e.by)
	}
	return leastCurve(curveOf(e.by), curveOf(e.alsoCurve))
}

// leastCurve returns the lesser of two curves.
func leastCurve(c, d curve) curve {
	return func(a float64) float64 { return math.Min(c(a), d(a)) }
}

// group adds the leaves of an event as a group sees it. What scales its
// sensitivity is still attained; other rules are bounds.
func (t *terms) group(e Group, count int64, rel Relation) error {
	inner, err := e.Expand()
	if err != nil {
		return err
	}
	var seen terms
	if err := seen.flatten(inner, count, rel); err != nil {
		return err
	}
	for i, leaf := range seen.curves.Keys {
		switch leaf.(type) {
		case Gaussian, Laplace, DiscreteLaplace, NonPrivate, dominated: // scaled, or bounded already
		default:
			leaf = dominated{by: leaf}
		}
		if err := t.curves.add(leaf, seen.curves.Counts[i]); err != nil {
			return err
		}
	}
	for i, d := range seen.failures.Keys {
		if err := t.failures.add(d, seen.failures.Counts[i]); err != nil {
			return err
		}
	}
	return nil
}

// holdsGroup reports whether a Group stands somewhere in an event. Inside a sample
// it would be a group that is drawn, or not, as one.
func holdsGroup(e Event) bool {
	if _, ok := e.(Group); ok {
		return true
	}
	return slices.ContainsFunc(e.row().children(), holdsGroup)
}

const groupInSample = "a group inside a sample would be drawn as one: write the group around the sample"
