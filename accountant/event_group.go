package accountant

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// Group is an Event with privacy for groups of up to Size records, such as all records of a family. An
// accountant rewrites Event for neighbours that differ in Size records. Pure epsilons, and sensitivities of
// additive noise, are multiplied by Size. A zCDP parameter rho is multiplied by Size^2 (Bun, Steinke 2016,
// Proposition 1.9). With g = Size, (epsilon, delta) becomes (g epsilon, delta (e^{g epsilon}-1)/(e^epsilon -
// 1)).
type Group struct {
	Size  int64 `json:"size" in:"1"` // >= 1
	Event Event `json:"event"`
}

func (Group) row() row { return row{"group", "for groups", "of {size}", bounded} }

func (e Group) flatten(t *terms, count int64) {
	// Noise with a scaled sensitivity still attains its pair. Other results are only upper bounds.
	inner, err := e.Expand()
	t.check(err)
	seen := t.alone(inner, count)
	for i, leaf := range seen.curves.Keys {
		switch leaf.(type) {
		case Gaussian, Laplace, DiscreteLaplace, NonPrivate, dominated: // scaled, or already a bound
		default:
			leaf = dominated{by: leaf}
		}
		t.add(leaf, seen.curves.Counts[i])
	}
	for i, d := range seen.failures.Keys {
		t.check(t.failures.add(d, seen.failures.Counts[i]))
	}
}

func (e Group) group(n int64) (Event, error) {
	m, err := mul(n, e.Size)
	if err != nil {
		return nil, err
	}
	return grouped(e.Event, m)
}

// Expand returns the inner event for neighbours that differ in Size records.
func (e Group) Expand() (Event, error) { return grouped(e.Event, e.Size) }

func grouped(e Event, n int64) (Event, error) {
	if n == 1 {
		if inner, ok := e.(Group); ok {
			return inner.Expand()
		}
		return e, nil
	}
	if rule, ok := e.(groupable); ok {
		if out, err := rule.group(n); out != nil || err != nil {
			return out, err
		}
	}
	if one, ok := guaranteeAnywhere(e); ok {
		return one.group(float64(n))
	}
	return nil, &UnsupportedEventError{e, fmt.Sprintf("its cost for groups of %d records is not known", n)}
}

func (o guarantee) group(g float64) (Event, error) {
	eps := mathx.Up(o.epsilon * g)
	if math.IsInf(eps, 1) {
		return NonPrivate{}, nil
	}
	if o.delta == 0 {
		return PureDP{eps}, nil
	}
	// (e^{g eps}-1)/(e^eps-1) = e^{(g-1) eps} (1-e^{-g eps})/(1-e^-eps)
	delta := o.delta * g
	if o.epsilon > 0 {
		delta = o.delta * math.Exp((g-1)*o.epsilon) * (math.Expm1(-g*o.epsilon) / math.Expm1(-o.epsilon))
	}
	delta *= 1 + 1e-15*(4+eps)
	if !(delta < 1) {
		return NonPrivate{}, nil
	}
	return WithFailure{PureDP{eps}, delta}, nil
}

func holdsGroup(e Event) bool {
	if _, ok := e.(Group); ok {
		return true
	}
	return slices.ContainsFunc(children(e), holdsGroup)
}

const groupInSample = "a group inside a sample would be drawn as one: write the group around the sample"

// dominated replaces an event without a known lower bound on its cost. The event `by` costs at least as much
// as the replaced event. If alsoCurve is not nil, its curve is another upper bound on this cost.
type dominated struct{ by, alsoCurve Event }

func (e dominated) row() row {
	switch e.by.(type) {
	case PoissonSampled, RandomAllocation:
		return row{name: typeName(e.by)}
	}
	return row{name: "group"}
}

func (e dominated) rho() float64 { return PropertiesOf(e.by).Rho }

func (e dominated) pairs(s *pld.Sum, n int64) error {
	err := addPairs(s, e.by, n)
	var unsupported *UnsupportedEventError
	if errors.As(err, &unsupported) {
		return &UnsupportedEventError{e, "its divergence is dominated, but no dominating pair is known"}
	}
	return err
}

func (e dominated) curve() curve {
	if e.alsoCurve == nil {
		return curveOf(e.by)
	}
	return leastCurve(curveOf(e.by), curveOf(e.alsoCurve))
}

func boundUnless(exact bool, leaf Event) Event {
	if exact {
		return leaf
	}
	return dominated{by: leaf}
}
