package accountant

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// component is a pair with its count, ready to be discretised.
type component struct {
	key      pairKey
	count    int64
	roughLaw roughLaw
	atoms    *atoms      // nil if the loss has a density
	spread   *allocation // of pairAllocation
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
	for i, k := range s.pairs.Keys {
		out = append(out, component{key: k, count: s.pairs.Counts[i]})
	}
	for i := range out {
		c := &out[i]
		switch c.key.kind {
		case pairSampled, pairGaussian:
			c.roughLaw = c.mixture().roughLaw(1/c.key.b + 42)
		case pairLaplace, pairRange:
			c.roughLaw = c.exponential().roughLaw()
		case pairResponse:
			c.atoms = randomizedResponse(c.key.a)
		case pairDiscreteLaplace:
			c.atoms = discreteLaplace(c.key.a, int64(c.key.b))
		case pairDiscreteGaussian:
			c.atoms = discreteGaussian(c.key.a)
		case pairKary:
			c.atoms = karyResponse(c.key.a, c.key.b)
		case pairSampledResponse:
			c.atoms = sampledResponse(c.key.a, c.key.b, reverse)
		case pairAllocation:
			c.spread = s.allocation(c.key)
			c.roughLaw = c.spread.roughLaw()
		}
		if c.atoms != nil {
			c.roughLaw = c.atoms.roughLaw()
		}
		if reverse && (c.key.kind == pairSampled || c.key.kind == pairAllocation) {
			c.roughLaw = c.roughLaw.mirror()
		}
	}
	return out
}

func (c *component) mixture() mixture { return mixture{q: c.key.a, sigma: c.key.b} }

func (c *component) exponential() exponential {
	return exponential{epsilon: c.key.a, atoms: c.key.kind == pairLaplace}
}

// law discretises one step: on the grid of step h, or, for atoms, as it is.
// It refuses more than most points. Losses above those of the rough law are left
// to infinity.
func (c *component) law(h, lambda float64, reverse, up bool, most int) (*tilted, error) {
	if c.atoms != nil {
		if len(c.atoms.logp) > most {
			return nil, errTooLong
		}
		return c.atoms.law(lambda, up), nil
	}
	width := c.roughLaw.widths(lambda, h)
	var t *cells
	if c.key.kind == pairAllocation {
		var err error
		if t, err = c.spread.discretise(h, c.logTail-math.Log(float64(c.count)), reverse, up, most, width); err != nil {
			return nil, err
		}
	} else if c.key.kind == pairLaplace || c.key.kind == pairRange {
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
			last := len(c.roughLaw.loss) - 1
			zhi := math.Max(m.at(c.roughLaw.loss[last])*1.5-m.at(c.roughLaw.loss[last-1])*0.5, zlo+1)
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
