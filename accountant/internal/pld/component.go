package pld

import (
	"context"
	"math"
	"slices"
	"sort"

	"github.com/pate-go/pate/internal/mathx"
)

type component struct {
	key      Pair
	count    int64
	roughLaw roughLaw
	atoms    *atoms      // nil if the losses are not on a lattice
	outcomes *outcomes   // nil if the loss has a density, or is on a lattice
	spread   *allocation // set for pairAllocation only
	aligned  bool        // law may use a finer grid than requested, closer to some outcomes
	rare     bool        // see query.sparse
	// logTail is the log of the probability that the loss of at least one step counts as infinite.
	logTail float64
}

func (m *Composer) components(ctx context.Context, s *Sum, reverse bool) ([]component, error) {
	var out []component
	if s.mu2 > 0 {
		out = append(out, component{key: Pair{pairGaussian, 1, 1 / math.Sqrt(s.mu2), 1}, count: 1})
	}
	for i, k := range s.pairs.Keys {
		out = append(out, component{key: k, count: s.pairs.Counts[i]})
	}
	for i := range out {
		c := &out[i]
		c.logTail = -745 // log of the least positive float64
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
			c.atoms = discreteGaussian(c.key.a, 1)
		case pairKary:
			c.atoms = karyResponse(c.key.a, c.key.b)
		case pairSampledResponse:
			c.atoms = sampledResponse(c.key.a, c.key.b, reverse)
		case pairAllocation:
			c.spread = m.allocation(c.key)
			c.roughLaw = c.spread.roughLaw(ctx)
		case pairSeveral:
			sums := several{int64(c.key.a), int64(c.key.c), c.key.b, 1}.leaning(ctx, reverse, s.about)
			c.outcomes = sums.outcomes(ctx, reverse, s.about, m.maxPoints())
		case pairSampledLaplace:
			c.roughLaw = c.sampledLaplace().roughLaw()
		case pairSampledDiscreteLaplace:
			c.outcomes = discreteLaplace(c.key.b, int64(c.key.c)).sampled(c.key.a)
		case pairSampledDiscreteGaussian:
			c.outcomes = discreteGaussian(c.key.b, int(c.key.c)).sampled(c.key.a)
		case pairDrawn:
			c.roughLaw = drawnMixture{c.mixture()}.roughLaw(1/c.key.b + 42)
		case pairDrawnResponse:
			c.atoms = drawnResponse(c.key.a, c.key.b)
		case pairDrawnDiscreteLaplace:
			c.outcomes = discreteLaplace(c.key.b, int64(c.key.c)).drawn(c.key.a)
		case pairDrawnDiscreteGaussian:
			c.outcomes = discreteGaussian(c.key.b, int(c.key.c)).drawn(c.key.a)
		}
		switch {
		case c.atoms != nil:
			c.roughLaw = c.atoms.roughLaw()
		case c.outcomes != nil:
			c.roughLaw = c.outcomes.roughLaw()
		}
		if reverse && (c.key.kind == pairSampled || c.key.kind == pairSampledLaplace || c.key.kind == pairAllocation || c.outcomes != nil) {
			c.roughLaw = c.roughLaw.mirror()
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *component) mixture() mixture { return mixture{q: c.key.a, sigma: c.key.b} }

func (c *component) exponential() exponential {
	return exponential{epsilon: c.key.a, atoms: c.key.kind == pairLaplace}
}

func (c *component) sampledLaplace() sampledLaplace { return sampledLaplace{c.key.a, c.key.b} }

func (c *component) ownGrid() bool {
	return c.key.kind == pairLaplace || c.key.kind == pairRange || c.key.kind == pairSampledLaplace
}

// law discretises the loss of one run. The step is at most h, except that losses on a lattice keep the step
// of this lattice. If the grid needs more than `most` points, law returns errTooLong.
func (c *component) law(ctx context.Context, h, lambda float64, reverse, up bool, most int) (*tilted, error) {
	if c.atoms != nil {
		if len(c.atoms.logp) > most {
			return nil, errTooLong
		}
		return c.atoms.law(lambda, up), nil
	}
	t, err := c.cells(ctx, h, lambda, reverse, !up, h*float64(most))
	if err != nil {
		return nil, err
	}
	if t.grid[len(t.grid)-1]-t.grid[0] >= most { // the last cell may reach far beyond the losses
		return nil, errTooLong
	}
	if up {
		return t.upper(lambda), nil
	}
	return t.lower(lambda), nil
}

func (c *component) smooth() roughLaw {
	s := c.roughLaw
	switch c.key.kind {
	case pairSampledLaplace:
		return roughLaw{s.loss[1 : len(s.loss)-1], s.logw[1 : len(s.loss)-1]}
	case pairDrawn:
		zero := sort.SearchFloat64s(s.loss, 0)
		if zero < len(s.loss) {
			return roughLaw{slices.Delete(slices.Clone(s.loss), zero, zero+1), slices.Delete(slices.Clone(s.logw), zero, zero+1)}
		}
	}
	return s
}

const widestCell = 300

func (c *component) cells(ctx context.Context, h, lambda float64, reverse, merge bool, widest float64) (*cells, error) {
	width := c.smooth().widths(lambda, h, c.rare)
	if c.key.kind == pairAllocation {
		return c.spread.discretise(ctx, h, c.logTail-math.Log(float64(c.count)), reverse, !merge, int(widest/h), width)
	}
	if reverse { // cut in the other direction
		inner := width
		width = func(from, step float64) int { return inner(-from, -step) }
	}
	// The omitted mass has this log probability, for all steps together.
	logN := math.Log(float64(c.count))
	below, above := -40-logN, c.logTail-logN
	if reverse {
		below, above = math.Min(below, above), below
	}
	var t *cells
	switch {
	case c.key.kind == pairLaplace || c.key.kind == pairRange:
		if !(2*c.key.a <= widest) || !(c.key.a >= 0.5*h) {
			return nil, errTooLong
		}
		return c.exponential().cells(h, width), nil
	case c.key.kind == pairSampledLaplace:
		s := c.sampledLaplace()
		if lo, hi := s.span(); !(hi-lo <= widest) {
			return nil, errTooLong
		}
		off, h := s.lattice(h, merge)
		if _, hi := s.span(); !tellsApart(h, off, hi) {
			return nil, errTooLong
		}
		t = s.cells(off, h, merge, width)
	case c.outcomes != nil:
		o := c.outcomes
		first, last := o.window(below, above, reverse)
		if !(o.loss[last]-o.loss[first] <= widest) {
			return nil, errTooLong
		}
		if c.key.drawn() {
			if c.aligned {
				h = o.lattice(0, h, lambda, false)
			}
			return o.cells(h, 0, first, last, false, width), nil
		}
		off := o.least
		if merge {
			if off = o.anchor(h); c.aligned {
				h = o.lattice(off, h, lambda, reverse)
				off = o.anchor(h)
			}
		}
		if !tellsApart(h, off, o.loss[first], o.loss[last]) {
			return nil, errTooLong
		}
		t = o.cells(h, off, first, last, merge, width)
	default:
		m := c.mixture()
		zlo := turningPoint(-60, 1/m.sigma, func(z float64) bool { return m.logHeadP(z) > below })
		last := len(c.roughLaw.loss) - 1
		zhi := math.Max(m.at(c.roughLaw.loss[last])*1.5-m.at(c.roughLaw.loss[last-1])*0.5, zlo+1)
		if reverse {
			zlo = turningPoint(-60, 0, func(z float64) bool { return mathx.LogNormalCDF(z) > below })
			zhi = turningPoint(0, 60, func(z float64) bool { return mathx.LogNormalCDF(-z) < above })
		}
		if c.key.kind == pairDrawn {
			zlo = 0.5 / m.sigma
			zhi = math.Max(zhi, zlo+1)
		}
		if !(m.pieces(zlo, zhi) <= maxPieces) { // on any grid
			return nil, errTooCoarse
		}
		if c.key.kind == pairDrawn {
			if !(2*m.loss(zhi) <= widest) {
				return nil, errTooLong
			}
			return drawnMixture{m}.cells(h, zhi, width), nil
		}
		if !(m.loss(zhi)-m.loss(zlo) <= widest) {
			return nil, errTooLong
		}
		off, whole := m.origin(h, merge)
		if !tellsApart(h, off, m.loss(zlo), m.loss(zhi)) {
			return nil, errTooLong
		}
		t = m.cells(h, off, zlo, zhi, merge, width)
		t.whole = whole
	}
	if reverse {
		t = t.mirror()
	}
	return t, nil
}

func tellsApart(h float64, losses ...float64) bool {
	for _, l := range losses {
		if !(math.Abs(l) < 0x1p50*h) {
			return false
		}
	}
	return true
}

func turningPoint(lo, hi float64, f func(float64) bool) float64 {
	lo, hi = mathx.Halve(12, f, lo, hi)
	return lo + (hi-lo)/2
}
