package accountant

import (
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
	pairAllocation      // one step of many: a = steps, b = noise multiplier
)

// pairKey identifies a dominating pair; equal keys are merged.
type pairKey struct {
	kind pairKind
	a, b float64
}

// maxLossAtoms bounds a discrete pair: memory and time.
const maxLossAtoms = 1 << 22

// schedule is what is composed: pairs with counts, Gaussians merged.
type schedule struct {
	mu2        float64 // sum of n (sensitivity/sigma)^2 of plain Gaussians
	pairs      tally[pairKey]
	nonPrivate bool
	spread     map[pairKey]*allocation // the laws of pairAllocation, computed once
}

func (s *schedule) gaussian(ratio float64, n int64) { s.mu2 += float64(n) * ratio * ratio }

func (s *schedule) add(k pairKey, n int64) error {
	if k.kind != pairSampled && k.a == 0 || k.kind == pairSampledResponse && k.b == 0 { // no loss at all
		return nil
	}
	return s.pairs.add(k, n)
}

// response adds n randomised responses of some log odds, which a lower bound may
// rest on: rounded down, and left out if they are too many.
func (s *schedule) response(logOdds float64, n int64) {
	_ = s.add(pairKey{pairResponse, math.Max(0, logOdds*(1-0x1p-40)), 0}, n)
}

// schedules returns the dominating pairs of everything composed, and pairs
// that are attained; the same pointer if they are the same.
func (p *PLD) schedules() (above, below *schedule) {
	above, below = &schedule{spread: p.spread}, &schedule{spread: p.spread}
	same := true
	for i, e := range p.terms.curves.Keys {
		n := p.terms.curves.Counts[i]
		_ = e.row().pair(above, n) // Compose asked whether all fits
		if e.row().attained(below, n) {
			_ = e.row().pair(below, n)
		} else {
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
	for i, k := range s.pairs.Keys {
		n := float64(s.pairs.Counts[i])
		switch k.kind {
		case pairLaplace, pairRange, pairResponse, pairKary:
			sum += n * k.a
		case pairSampledResponse:
			if reverse {
				sum -= n * mathx.LogMix(k.a, -k.b)
			} else {
				sum += n * mathx.LogMix(k.a, k.b)
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
	for _, k := range s.pairs.Keys {
		if k.kind == pairSampled || k.kind == pairSampledResponse || k.kind == pairAllocation {
			return true
		}
	}
	return false
}
