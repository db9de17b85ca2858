package accountant

import (
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// pairKind names the family of a component.
type pairKind int

const (
	pairSampled pairKind = iota // Poisson-sampled Gaussian: a = q, b = noise multiplier
	pairGaussian
	pairLaplace          // a = epsilon
	pairRange            // a = epsilon
	pairResponse         // a = epsilon
	pairDiscreteLaplace  // a = scale, b = sensitivity; on a sample a = q, b = scale, c = sensitivity
	pairDiscreteGaussian // a = sigma; on a sample a = q, b = sigma, c = coordinates that move by one
	pairKary             // a = epsilon, b = categories
	pairSampledResponse  // a = q, b = epsilon
	pairSampledLaplace   // a = q, b = epsilon
	pairSampledDiscreteLaplace
	pairSampledDiscreteGaussian
	pairAllocation    // one step of many: a = steps, b = noise multiplier
	pairSeveral       // what k steps of many show at least: a = steps, b = noise multiplier, c = k
	pairDrawn         // a sample without replacement, Gaussian: a = q, b = noise multiplier
	pairDrawnResponse // a = q, b = epsilon
	pairDrawnDiscreteLaplace
	pairDrawnDiscreteGaussian
)

// pairKey identifies a dominating pair; equal keys are merged.
type pairKey struct {
	kind    pairKind
	a, b, c float64
}

// maxLossAtoms bounds a discrete pair: memory and time.
const maxLossAtoms = 1 << 22

// schedule is what is composed: pairs with counts, Gaussians merged.
type schedule struct {
	mu2        float64 // sum of n (sensitivity/sigma)^2 of plain Gaussians
	pairs      tally[pairKey]
	nonPrivate bool
	spread     map[pairKey]*allocation // the laws of pairAllocation, computed once
	plain      bool                    // of several steps of many only the sum of the outputs counts
	logDelta   float64                 // of about the delta in question, for pairSeveral
	most       int                     // points of a lattice, for pairSeveral
}

func (s *schedule) gaussian(ratio float64, n int64) { s.mu2 += float64(n) * ratio * ratio }

func (s *schedule) add(k pairKey, n int64) error {
	if k.kind != pairSampled && k.a == 0 || k.unsampled() == 0 { // no loss at all
		return nil
	}
	return s.pairs.add(k, n)
}

// response adds n randomised responses of some log odds, which a lower bound may
// rest on: rounded down, and left out if they are too many, or odds beyond a float64.
func (s *schedule) response(logOdds float64, n int64) {
	if !mathx.IsFinite(logOdds) {
		return
	}
	_ = s.add(pairKey{pairResponse, math.Max(0, logOdds*(1-0x1p-40)), 0, 0}, n)
}

// schedules returns the dominating pairs of everything composed, and schedules of pairs that are
// attained, one or two, of which the larger lower end counts; the same pointer if they are the same.
func (p *PLD) schedules() (above *schedule, below []*schedule) {
	above = &schedule{spread: p.spread}
	for i, e := range p.terms.curves.Keys {
		_ = e.row().pair(above, p.terms.curves.Counts[i]) // Compose asked whether all fits
	}
	low, same := p.attained(false)
	if same {
		return above, []*schedule{above}
	}
	below = append(below, low)
	if low.several() {
		plain, _ := p.attained(true)
		below = append(below, plain)
	}
	return above, below
}

// several reports whether a pair is what several steps of many show.
func (s *schedule) several() bool {
	return slices.ContainsFunc(s.pairs.Keys, func(k pairKey) bool { return k.kind == pairSeveral })
}

// attained returns pairs that are attained, and whether they are the dominating ones.
func (p *PLD) attained(plain bool) (below *schedule, same bool) {
	below, same = &schedule{spread: p.spread, plain: plain, most: p.maxPoints()}, true
	for i, e := range p.terms.curves.Keys {
		n := p.terms.curves.Counts[i]
		if e.row().attained(below, n) {
			_ = e.row().pair(below, n)
		} else {
			same = false
		}
	}
	return below, same
}

// pure returns the sum of the largest losses in one order, +Inf if one is
// unbounded. In reverse a sampled Gaussian's loss is at most -log(1-q).
func (s *schedule) pure(reverse bool) float64 {
	if s.mu2 > 0 || s.nonPrivate {
		return math.Inf(1)
	}
	sum := 0.0
	for i, k := range s.pairs.Keys {
		n := float64(s.pairs.Counts[i])
		switch k.kind {
		case pairLaplace, pairRange, pairResponse, pairKary:
			sum += n * k.a
		case pairSampledResponse, pairSampledLaplace, pairSampledDiscreteLaplace:
			if reverse {
				sum -= n * mathx.LogMix(k.a, -k.unsampled())
			} else {
				sum += n * mathx.LogMix(k.a, k.unsampled())
			}
		case pairDrawnResponse, pairDrawnDiscreteLaplace:
			sum += n * mathx.LogMix(k.a, k.unsampled())
		case pairDiscreteLaplace:
			sum += n * k.b / k.a
		case pairSampled, pairSampledDiscreteGaussian:
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

// unsampled returns the largest loss of all records of a pair on a sample, +Inf if there
// is none.
func (k pairKey) unsampled() float64 {
	switch k.kind {
	case pairSampledResponse, pairSampledLaplace, pairDrawnResponse:
		return k.b
	case pairSampledDiscreteLaplace, pairDrawnDiscreteLaplace:
		return k.c / k.b
	}
	return math.Inf(1)
}

// drawn reports whether the pair is that of a sample without replacement.
func (k pairKey) drawn() bool { return k.kind >= pairDrawn }

// onSample returns the pair of one run, of noise or a pure event that dominates it, on a
// sample that holds the record in question with probability q: a Poisson sample or, if
// replaced, one without replacement whose record is replaced; ok is false if the noise
// tells nothing of the record.
func onSample(q float64, inner Event, replaced bool) (key pairKey, ok bool, err error) {
	kinds := func(sampled, drawn pairKind) pairKind {
		if replaced {
			return drawn
		}
		return sampled
	}
	response := func(eps float64) (pairKey, bool, error) {
		return pairKey{kinds(pairSampledResponse, pairDrawnResponse), q, eps, 0}, true, nil
	}
	switch e := inner.(type) {
	case Gaussian:
		return pairKey{kinds(pairSampled, pairDrawn), q, e.NoiseMultiplier, 0}, true, nil
	case PureDP:
		return response(e.Epsilon)
	case Laplace:
		if replaced {
			return response(mathx.Up(1 / e.NoiseMultiplier))
		}
		return pairKey{pairSampledLaplace, q, 1 / e.NoiseMultiplier, 0}, true, nil
	case DiscreteLaplace:
		switch {
		case e.Sensitivity == 1: // one coin for the two sides
			return response(1 / e.Scale)
		case e.Sensitivity > maxLossAtoms:
			return key, false, errFineSensitivity(e)
		}
		return pairKey{kinds(pairSampledDiscreteLaplace, pairDrawnDiscreteLaplace), q, e.Scale, float64(e.Sensitivity)}, true, nil
	case DiscreteGaussian:
		moved, err := e.moved()
		return pairKey{kinds(pairSampledDiscreteGaussian, pairDrawnDiscreteGaussian), q, e.Sigma, float64(moved)}, moved > 0, err
	}
	return key, false, &UnsupportedEventError{inner, "no dominating pair is known for it on a sample"}
}

// asymmetric tells whether the order of the pair matters.
func (s *schedule) asymmetric() bool {
	for _, k := range s.pairs.Keys {
		switch k.kind {
		case pairSampled, pairSampledResponse, pairSampledLaplace, pairSampledDiscreteLaplace, pairSampledDiscreteGaussian, pairAllocation, pairSeveral:
			return true
		}
	}
	return false
}
