package accountant

import "math"

// bounded is a leaf that was rewritten: by is an event that costs no less. Of,
// if not nil, is another that costs no less, of which only the Rényi curve
// counts. Nothing says that the rewritten event costs as much as either, so
// neither lends it a lower bound.
type bounded struct{ by, of Event }

func (bounded) event()          {}
func (bounded) Validate() error { return nil }

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
	inner, err := e.expand()
	if err != nil {
		return err
	}
	var seen terms
	if err := seen.flatten(inner, count, rel); err != nil {
		return err
	}
	for i, leaf := range seen.curves.keys {
		switch leaf.(type) {
		case Gaussian, Laplace, DiscreteLaplace, NonPrivate, bounded:
		default:
			leaf = bounded{by: leaf}
		}
		if err := t.curves.add(leaf, seen.curves.counts[i]); err != nil {
			return err
		}
	}
	for i, d := range seen.failures.keys {
		if err := t.failures.add(d, seen.failures.counts[i]); err != nil {
			return err
		}
	}
	return nil
}

// holdsGroup tells whether a Group stands somewhere in an event. Inside a sample
// it would be a group that is drawn, or not, as one.
func holdsGroup(e Event) bool {
	switch e := e.(type) {
	case Group:
		return true
	case Composed:
		for _, inner := range e.Events {
			if holdsGroup(inner) {
				return true
			}
		}
	case Repeated:
		return holdsGroup(e.Event)
	case WithFailure:
		return holdsGroup(e.Event)
	case PoissonSampled:
		return holdsGroup(e.Event)
	}
	return false
}

const groupInSample = "a group inside a sample would be drawn as one: write the group around the sample"
