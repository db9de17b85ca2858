package accountant

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/pate-go/pate/internal/mathx"
)

// Group is Event seen by neighbours that differ in up to Size records instead
// of one: its cost protects groups of that size, such as all records of a
// family. Mechanisms are rewritten to what they are at a distance of Size: the
// sensitivity of additive noise and pure epsilons grow Size-fold, rho Size^2
// fold (Bun, Steinke 2016, Proposition 1.9), and (epsilon, delta) becomes
// (g epsilon, delta (e^{g epsilon}-1)/(e^epsilon - 1)).
type Group struct {
	Size  int64 `json:"size"` // >= 1
	Event Event `json:"event"`
}

func (Group) event() {}

// Validate implements Event.
func (e Group) Validate() error { return validTree(e, 0) }

// groupedSample is a Poisson sampled Gaussian seen by a group. No exact law is
// used: a group of 2^c records costs 3^c times the divergence at the 2^c-fold
// order, for orders from 2 (Mironov 2017, Proposition 2).
type groupedSample struct {
	probability, noiseMultiplier float64
	size                         int64
}

func (groupedSample) event()          {}
func (groupedSample) Validate() error { return nil }

func (e groupedSample) curve() curve {
	doublings := float64(bits.Len64(uint64(e.size - 1)))
	base := sampledGaussianCurve(e.probability, e.noiseMultiplier)
	all := gaussianCurve(float64(e.size) / e.noiseMultiplier) // all of the group in the batch
	order, factor := math.Exp2(doublings), math.Pow(3, doublings)
	return func(a float64) float64 {
		return math.Min(all(a), factor*base(math.Max(a, 2)*order))
	}
}

// expand returns the event as it is seen by a group, without Group in it.
func (e Group) expand() (Event, error) { return grouped(e.Event, e.Size) }

func grouped(e Event, n int64) (Event, error) {
	if n == 1 {
		if inner, ok := e.(Group); ok {
			return inner.expand()
		}
		return e, nil
	}
	g := float64(n)
	switch e := e.(type) {
	case Group:
		m, err := mul(n, e.Size)
		if err != nil {
			return nil, err
		}
		return grouped(e.Event, m)
	case Composed:
		out := Composed{make([]Event, len(e.Events))}
		for i, inner := range e.Events {
			var err error
			if out.Events[i], err = grouped(inner, n); err != nil {
				return nil, err
			}
		}
		return out, nil
	case Repeated:
		inner, err := grouped(e.Event, n)
		return Repeated{inner, e.Count}, err
	case Selection: // its theorem compares runs, at whatever distance
		return Selection{e.Eta, e.Gamma, Group{n, e.Event}}, nil
	case PoissonSelection:
		return PoissonSelection{e.Mean, Group{n, e.Event}}, nil
	case Gaussian:
		return Gaussian{downBy(e.NoiseMultiplier, g)}, nil
	case Laplace:
		return Laplace{downBy(e.NoiseMultiplier, g)}, nil
	case GNMax:
		if e.Discrete { // a shift by n is not a shift by one at sigma/n; the curve is the same
			return ZCDP{e.rho() * g * g * (1 + 1e-15)}, nil
		}
		return GNMax{Sigma: downBy(e.Sigma, g)}, nil
	case Threshold:
		if e.Discrete {
			return ZCDP{e.rho() * g * g * (1 + 1e-15)}, nil
		}
		return Threshold{Sigma: downBy(e.Sigma, g)}, nil
	case DiscreteGaussian:
		return DiscreteGaussian{e.Sigma, mathx.Up(e.Sensitivity * g)}, nil
	case DiscreteLaplace:
		s, err := mul(e.Sensitivity, n)
		return DiscreteLaplace{e.Scale, s}, err
	case ExponentialMechanism:
		return ExponentialMechanism{mathx.Up(e.Epsilon * g)}, nil
	case AboveThreshold:
		return AboveThreshold{mathx.Up(e.Epsilon1 * g), mathx.Up(e.Epsilon2 * g), e.Answers}, nil
	case ZCDP:
		return ZCDP{mathx.Up(e.Rho * g * g * (1 + 2e-16))}, nil
	case NonPrivate:
		return e, nil
	case PoissonSampled:
		if inner, ok := e.Event.(Gaussian); ok && e.Probability > 0 && e.Probability < 1 {
			return groupedSample{e.Probability, inner.NoiseMultiplier, n}, nil
		}
	}
	if one, ok := guaranteeOf(e); ok {
		return one.group(g)
	}
	return nil, &UnsupportedEventError{e, fmt.Sprintf("its cost for groups of %d records is not known", n)}
}

// downBy divides noise by g, rounding down, but not to zero.
func downBy(noise, g float64) float64 {
	return math.Max(mathx.Down(noise/g), math.SmallestNonzeroFloat64)
}

// group returns an event with the guarantee of a group of g records.
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
