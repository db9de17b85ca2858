package accountant

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// pairKind names the family of a component.
type pairKind int

const (
	pairSampled pairKind = iota // Poisson-sampled Gaussian: a = q, b = noise multiplier
	pairGaussian
	pairLaplace         // a = epsilon
	pairRange           // a = epsilon
	pairResponse        // a = epsilon
	pairDiscreteLaplace // a = scale, b = sensitivity
	pairDiscreteGaussian
	pairKary            // a = epsilon, b = categories
	pairSampledResponse // a = q, b = epsilon
)

// pairKey identifies a dominating pair; equal keys are merged.
type pairKey struct {
	kind pairKind
	a, b float64
}

// maxLossAtoms bounds a discrete pair: memory and time.
const maxLossAtoms = 1 << 22

// dominating adds the pair or pairs that dominate a leaf, count times, and
// tells whether some mechanism the event describes attains them. Gaussian
// pairs are summed into mu^2: n releases at sensitivity/sigma = r are one at
// ratio sqrt(n) r (Dong, Roth, Su 2022).
func (s *schedule) dominating(e Event, n int64) error {
	switch e := e.(type) {
	case Gaussian:
		s.gaussian(1/e.NoiseMultiplier, n)
	case GNMax: // two counts move by one vote
		if e.Discrete {
			return s.discreteGaussian(DiscreteGaussian{e.Sigma, math.Sqrt2}, n)
		}
		s.gaussian(math.Sqrt2/e.Sigma, n)
	case Threshold:
		if e.Discrete {
			return s.discreteGaussian(DiscreteGaussian{e.Sigma, 1}, n)
		}
		s.gaussian(1/e.Sigma, n)
	case Laplace:
		return s.add(pairKey{pairLaplace, 1 / e.NoiseMultiplier, 0}, n)
	case MStab: // on the good event; the failure is counted apart
		return s.add(pairKey{pairLaplace, e.Epsilon, 0}, n)
	case ExponentialMechanism:
		return s.add(pairKey{pairRange, e.Epsilon, 0}, n)
	case PureDP:
		return s.add(pairKey{pairResponse, e.Epsilon, 0}, n)
	case RandomizedResponse:
		return s.add(pairKey{pairResponse, e.Epsilon, 0}, n)
	case LNMax: // the noisy counts that move; the argmax is a function of them
		twice, err := mul(n, 2)
		if err != nil {
			return err
		}
		if e.Discrete { // a shift by one has losses +-1/Scale
			return s.add(pairKey{pairResponse, mathx.Up(1 / e.Scale), 0}, twice)
		}
		return s.add(pairKey{pairLaplace, 1 / e.Scale, 0}, twice)
	case KaryResponse:
		if e.Categories == 2 {
			return s.add(pairKey{pairResponse, e.Epsilon, 0}, n)
		}
		return s.add(pairKey{pairKary, e.Epsilon, float64(e.Categories)}, n)
	case AboveThreshold:
		return s.add(pairKey{pairResponse, mathx.Up(e.Epsilon1 + e.Epsilon2), 0}, n)
	case StableSVT:
		return s.add(pairKey{pairResponse, e.epsilon(), 0}, n)
	case bounded:
		err := s.dominating(e.by, n)
		var unsupported *UnsupportedEventError
		if errors.As(err, &unsupported) {
			return &UnsupportedEventError{e, "its divergence is bounded, but no dominating pair is known"}
		}
		return err
	case DiscreteLaplace:
		if e.Sensitivity > maxLossAtoms {
			return &UnsupportedEventError{e, fmt.Sprintf("a sensitivity above %d is too fine for a loss distribution", maxLossAtoms)}
		}
		return s.add(pairKey{pairDiscreteLaplace, e.Scale, float64(e.Sensitivity)}, n)
	case DiscreteGaussian:
		return s.discreteGaussian(e, n)
	case PoissonSampled: // see sampledForm
		switch inner := e.Event.(type) {
		case PureDP:
			return s.add(pairKey{pairSampledResponse, e.Probability, inner.Epsilon}, n)
		case Gaussian:
			return s.add(pairKey{pairSampled, e.Probability, inner.NoiseMultiplier}, n)
		default:
			return &UnsupportedEventError{e, "the losses of sampled integer noise lie on no lattice; rdp holds it"}
		}
	case NonPrivate:
		s.nonPrivate = true
	case ZCDP:
		return &UnsupportedEventError{e, "zero-concentrated privacy bounds moments of the loss, not its distribution: no pair dominates it"}
	case SampledWithoutReplacement:
		return &UnsupportedEventError{e, "the worst pair of one sample without replacement is not the worst under composition (Lebeda et al. 2024): no pair is known"}
	case selected:
		return &UnsupportedEventError{e, "a selection has a divergence bound, but no known dominating pair"}
	case groupedSample:
		return &UnsupportedEventError{e, "a Poisson sample seen by a group has a divergence bound, but its pair is not known to be the worst"}
	default:
		return &UnsupportedEventError{e, "no dominating pair is known for it"}
	}
	return nil
}

// discreteGaussian: an integer vector of L2 norm below 2 has entries 0 and +-1
// only, at most norm^2 of them, so the worst neighbour moves that many
// coordinates by one. From norm 2 on, moving one coordinate by two competes
// with moving four by one, and neither is known to dominate.
func (s *schedule) discreteGaussian(e DiscreteGaussian, n int64) error {
	// A sensitivity typed to a few digits means the root it is near.
	moved := int64(math.Floor(math.Min(e.Sensitivity*e.Sensitivity*(1+2e-3), 1<<40)))
	switch {
	case moved == 0: // an integer function that moves by less than 1 does not move
		return nil
	case moved > 3:
		return &UnsupportedEventError{e, "from sensitivity 2 on no single shift is known to be the worst"}
	case 80*e.Sigma > maxLossAtoms:
		return &UnsupportedEventError{e, fmt.Sprintf("a sigma above %d is too fine for a loss distribution", maxLossAtoms/80)}
	}
	total, err := mul(n, moved)
	if err != nil {
		return err
	}
	return s.add(pairKey{pairDiscreteGaussian, e.Sigma, 0}, total)
}

// attained adds a pair that some mechanism described by the leaf attains,
// from which a lower bound on the worst of them follows.
func (s *schedule) attained(e Event, n int64) error {
	bit := func(logOdds float64) { // an outcome of these odds against one of the inverse odds
		_ = s.add(pairKey{pairResponse, math.Max(0, logOdds*(1-0x1p-40)), 0}, n) // too many: less is a lower bound
	}
	normal := func(a float64) float64 { return mathx.LogNormalCDF(a) - mathx.LogNormalCDF(-a) }
	// With integer noise Z an outcome and its complement differ by the mass p of
	// a tie: (1+p)/2 against (1-p)/2, odds 2 artanh p.
	tie := func(logP float64) float64 { return 2 * math.Atanh(math.Exp(logP)*(1-1e-14)) }
	switch e := e.(type) {
	case GNMax: // two classes one vote apart, which the move turns around
		if e.Discrete { // P[Z1 = Z2]; ties to the first class only add to it
			bit(tie(mathx.LogTheta(e.Sigma/math.Sqrt2) - 2*mathx.LogTheta(e.Sigma)))
		} else {
			bit(normal(math.Sqrt2 / 2 / e.Sigma))
		}
	case Threshold: // a count half a vote from the threshold, or at it and one below
		if e.Discrete {
			bit(tie(-mathx.LogTheta(e.Sigma)))
		} else {
			bit(normal(0.5 / e.Sigma))
		}
	case ExponentialMechanism: // two candidates, likewise
		bit(e.Epsilon / 2)
	case LNMax: // two classes one vote apart: P[loser] = (2+1/b) e^{-1/b}/4
		if e.Discrete { // P[Z1 = Z2] = tanh(1/2b)^2 (1+r^2)/(1-r^2), r = e^{-1/b}
			bit(tie(2*math.Log(math.Tanh(0.5/e.Scale)) - math.Log(math.Tanh(1/e.Scale))))
		} else {
			logP := math.Log((2+1/e.Scale)/4) - 1/e.Scale
			bit(math.Log1p(-math.Exp(logP)) - logP)
		}
	case MStab, AboveThreshold, StableSVT, bounded: // something, but nothing simple
	default:
		return s.dominating(e, n)
	}
	return nil
}

// schedule is what is composed: pairs with counts, Gaussians merged.
type schedule struct {
	mu2        float64 // sum of n (sensitivity/sigma)^2 of plain Gaussians
	pairs      tally[pairKey]
	nonPrivate bool
}

func (s *schedule) gaussian(ratio float64, n int64) { s.mu2 += float64(n) * ratio * ratio }

func (s *schedule) add(k pairKey, n int64) error {
	if k.kind != pairSampled && k.a == 0 || k.kind == pairSampledResponse && k.b == 0 { // no loss at all
		return nil
	}
	return s.pairs.add(k, n)
}

// schedules returns the dominating pairs of everything composed, and pairs
// that are attained; the same pointer if they are the same.
func (p *PLD) schedules() (above, below *schedule) {
	above, below = &schedule{}, &schedule{}
	same := true
	for i, e := range p.terms.curves.keys {
		_ = above.dominating(e, p.terms.curves.counts[i]) // Compose asked whether all fits
		_ = below.attained(e, p.terms.curves.counts[i])
		switch e.(type) {
		case GNMax, Threshold, ExponentialMechanism, LNMax, MStab, AboveThreshold, StableSVT, bounded:
			same = false
		}
	}
	if same {
		below = above
	}
	return above, below
}

// pure returns the sum of the largest losses in one order, +Inf if one is
// unbounded. In reverse a sampled Gaussian's loss is at most -log(1-q).
func (s *schedule) pure(reverse bool) float64 {
	if s.mu2 > 0 || s.nonPrivate {
		return math.Inf(1)
	}
	sum := 0.0
	for i, k := range s.pairs.keys {
		n := float64(s.pairs.counts[i])
		switch k.kind {
		case pairLaplace, pairRange, pairResponse, pairKary:
			sum += n * k.a
		case pairSampledResponse:
			if reverse {
				sum -= n * mixedLoss(k.a, -k.b)
			} else {
				sum += n * mixedLoss(k.a, k.b)
			}
		case pairDiscreteLaplace:
			sum += n * k.b / k.a
		case pairSampled:
			if !reverse {
				return math.Inf(1)
			}
			sum -= n * math.Log1p(-k.a)
		default:
			return math.Inf(1)
		}
	}
	return sum
}

// asymmetric tells whether the order of the pair matters.
func (s *schedule) asymmetric() bool {
	for _, k := range s.pairs.keys {
		if k.kind == pairSampled || k.kind == pairSampledResponse {
			return true
		}
	}
	return false
}
