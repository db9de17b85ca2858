package accountant

import (
	"errors"
	"math"
	"slices"
)

// bounded is a leaf that was rewritten: by is an event that costs no less. Of,
// if not nil, is another that costs no less, of which only the Rényi curve
// counts. Nothing says that the rewritten event costs as much as either, so
// neither lends it a lower bound.
type bounded struct{ by, of Event }

// Validate implements Event.
func (bounded) Validate() error { return nil }

type boundedRow struct {
	leaf
	bounded
}

func (e bounded) row() row { return boundedRow{leafOf(e), e} }

func (r boundedRow) name() string {
	if _, sampled := r.by.(PoissonSampled); sampled {
		return "poisson_sampled"
	}
	return "group"
}

func (boundedRow) words(printer) (string, string) { return "", "" }
func (r boundedRow) curve() curve                 { return r.bounded.curve() }
func (r boundedRow) rho() float64                 { return PropertiesOf(r.by).Rho }

func (r boundedRow) pair(s *schedule, n int64) error {
	err := r.by.row().pair(s, n)
	var unsupported *UnsupportedEventError
	if errors.As(err, &unsupported) {
		return &UnsupportedEventError{r.event, "its divergence is bounded, but no dominating pair is known"}
	}
	return err
}

func (e bounded) curve() curve {
	by := curveOf(e.by)
	if e.of == nil {
		return by
	}
	of := curveOf(e.of)
	return func(a float64) float64 { return math.Min(by(a), of(a)) }
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
		case Gaussian, Laplace, DiscreteLaplace, NonPrivate, bounded: // scaled, or bounded already
		default:
			leaf = bounded{by: leaf}
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
