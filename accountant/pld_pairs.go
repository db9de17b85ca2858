package accountant

import (
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
	case GNMax: // a moved vote has L2 norm sqrt(2)
		s.gaussian(math.Sqrt2/e.Sigma, n)
	case Threshold:
		s.gaussian(1/e.Sigma, n)
	case Laplace:
		s.add(pairKey{pairLaplace, 1 / e.NoiseMultiplier, 0}, n)
	case MStab: // on the good event; the failure is counted apart
		s.add(pairKey{pairLaplace, e.Epsilon, 0}, n)
	case ExponentialMechanism:
		s.add(pairKey{pairRange, e.Epsilon, 0}, n)
	case PureDP:
		s.add(pairKey{pairResponse, e.Epsilon, 0}, n)
	case RandomizedResponse:
		s.add(pairKey{pairResponse, e.Epsilon, 0}, n)
	case LNMax:
		s.add(pairKey{pairResponse, mathx.Up(2 / e.Scale), 0}, n)
	case AboveThreshold:
		s.add(pairKey{pairResponse, mathx.Up(e.Epsilon1 + e.Epsilon2), 0}, n)
	case StableSVT:
		s.add(pairKey{pairResponse, (1/e.B1 + 2*float64(e.Failures)/e.B2) * (1 + 0x1p-50), 0}, n)
	case DiscreteLaplace:
		if e.Sensitivity > maxLossAtoms {
			return &UnsupportedEventError{e, fmt.Sprintf("a sensitivity above %d is too fine for a loss distribution", maxLossAtoms)}
		}
		s.add(pairKey{pairDiscreteLaplace, e.Scale, float64(e.Sensitivity)}, n)
	case DiscreteGaussian:
		return s.discreteGaussian(e, n)
	case PoissonSampled:
		s.add(pairKey{pairSampled, e.Probability, e.Event.(Gaussian).NoiseMultiplier}, n)
	case NonPrivate:
		s.nonPrivate = true
	case ZCDP:
		return &UnsupportedEventError{e, "zero-concentrated privacy bounds moments of the loss, not its distribution: no pair dominates it"}
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
	moved := int64(math.Floor(math.Min(e.Sensitivity*e.Sensitivity*(1+1e-9), 1<<40)))
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
	s.add(pairKey{pairDiscreteGaussian, e.Sigma, 0}, total)
	return nil
}

// attained adds a pair that some mechanism described by the leaf attains,
// from which a lower bound on the worst of them follows.
func (s *schedule) attained(e Event, n int64) error {
	bit := func(a float64) { // P[N(0,1) < a] against P[N(0,1) < -a]
		s.add(pairKey{pairResponse, (mathx.LogNormalCDF(a) - mathx.LogNormalCDF(-a)) * (1 - 0x1p-40), 0}, n)
	}
	switch e := e.(type) {
	case GNMax: // two classes one vote apart, which the move turns around
		bit(math.Sqrt2 / 2 / e.Sigma)
	case Threshold: // a count half a vote from the threshold
		bit(0.5 / e.Sigma)
	case ExponentialMechanism: // two candidates, likewise
		s.add(pairKey{pairResponse, e.Epsilon / 2, 0}, n)
	case LNMax: // two classes one vote apart: P[loser] = (2+1/b) e^{-1/b}/4
		p := (2 + 1/e.Scale) * math.Exp(-1/e.Scale) / 4
		s.add(pairKey{pairResponse, math.Max(0, (math.Log1p(-p)-math.Log(p))*(1-0x1p-40)), 0}, n)
	case MStab, AboveThreshold, StableSVT: // something, but nothing simple
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

func (s *schedule) add(k pairKey, n int64) {
	if k.kind != pairSampled && k.a == 0 { // no loss at all
		return
	}
	_ = s.pairs.add(k, n) // counts were checked when composed
}

// schedules returns the dominating pairs of everything composed, and pairs
// that are attained; the same pointer if they are the same.
func (p *PLD) schedules() (above, below *schedule) {
	above, below = &schedule{}, &schedule{}
	same := true
	for i, e := range p.leaves.keys {
		_ = above.dominating(e, p.leaves.counts[i]) // checked when composed
		_ = below.attained(e, p.leaves.counts[i])
		switch e.(type) {
		case GNMax, Threshold, ExponentialMechanism, LNMax, MStab, AboveThreshold, StableSVT:
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
		case pairLaplace, pairRange, pairResponse:
			sum += n * k.a
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
		if k.kind == pairSampled {
			return true
		}
	}
	return false
}

// component is a pair with its count, ready to be discretised.
type component struct {
	key   pairKey
	count int64
	scout scout
	atoms *atoms // nil if the loss has a density
	// logTail is the log of the probability that all steps together may meet a
	// loss left to infinity.
	logTail float64
}

// components prepares the pairs of a schedule in one order.
func (s *schedule) components(reverse bool) []component {
	var out []component
	if s.mu2 > 0 {
		out = append(out, component{key: pairKey{pairGaussian, 1, 1 / math.Sqrt(s.mu2)}, count: 1})
	}
	for i, k := range s.pairs.keys {
		out = append(out, component{key: k, count: s.pairs.counts[i]})
	}
	for i := range out {
		c := &out[i]
		switch c.key.kind {
		case pairSampled, pairGaussian:
			c.scout = c.mixture().scout(1/c.key.b + 42)
		case pairLaplace, pairRange:
			c.scout = c.exponential().scout()
		case pairResponse:
			c.atoms = randomizedResponse(c.key.a)
		case pairDiscreteLaplace:
			c.atoms = discreteLaplace(c.key.a, int64(c.key.b))
		case pairDiscreteGaussian:
			c.atoms = discreteGaussian(c.key.a)
		}
		if c.atoms != nil {
			c.scout = c.atoms.scout()
		}
		if reverse && c.key.kind == pairSampled {
			c.scout = c.scout.mirror()
		}
	}
	return out
}

func (c *component) mixture() mixture { return mixture{q: c.key.a, sigma: c.key.b} }

func (c *component) exponential() exponential {
	return exponential{epsilon: c.key.a, atoms: c.key.kind == pairLaplace}
}

// law discretises one step: on the grid of step h, or, for atoms, as it is.
// It refuses more than so many points. Losses above those of the scout are left
// to infinity.
func (c *component) law(h, lambda float64, reverse, up bool, most int) (*tilted, error) {
	if c.atoms != nil {
		return c.atoms.law(lambda, up), nil
	}
	width := c.scout.widths(lambda, h)
	var t *cells
	if c.key.kind == pairLaplace || c.key.kind == pairRange {
		if !(2*c.key.a <= h*float64(most)) || !(c.key.a >= 0.5*h) {
			return nil, errTooLong
		}
		t = c.exponential().cells(h, width)
	} else {
		m := c.mixture()
		logN := math.Log(float64(c.count))
		lowTail := -40 - logN
		if reverse {
			inner := width
			width = func(from, step float64) int { return inner(-from, -step) }
			highTail := math.Min(lowTail, c.logTail-logN)
			zlo := turningPoint(-60, 0, func(z float64) bool { return mathx.LogNormalCDF(z) > highTail })
			zhi := turningPoint(0, 60, func(z float64) bool { return mathx.LogNormalCDF(-z) < lowTail })
			if !(m.loss(zhi)-m.loss(zlo) <= h*float64(most)) {
				return nil, errTooLong
			}
			t = m.cells(h, m.origin(h, !up), zlo, zhi, !up, width).mirror()
		} else {
			zlo := turningPoint(-60, 1/m.sigma, func(z float64) bool { return m.logHeadP(z) > lowTail })
			last := len(c.scout.loss) - 1
			zhi := math.Max(m.at(c.scout.loss[last])*1.5-m.at(c.scout.loss[last-1])*0.5, zlo+1)
			if !(m.loss(zhi)-m.loss(zlo) <= h*float64(most)) {
				return nil, errTooLong
			}
			t = m.cells(h, m.origin(h, !up), zlo, zhi, !up, width)
		}
	}
	if up {
		return t.upper(lambda), nil
	}
	return t.lower(lambda), nil
}

// turningPoint returns a point near where f turns from false to true, on a side that
// only costs tightness either way.
func turningPoint(lo, hi float64, f func(float64) bool) float64 {
	for range 12 {
		mid := lo + (hi-lo)/2
		if f(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo + (hi-lo)/2
}
