package pld

import (
	"context"
	"math"
	"math/bits"
	"sort"

	"github.com/pate-go/pate/internal/mathx"
)

const (
	// MaxAllocated bounds the number of steps, because each step may add a rounding error. A larger number is
	// replaced by MaxAllocated. This raises the cost, because a mean of fewer likelihood ratios is larger in
	// the convex order.
	MaxAllocated = 1 << 34
	// maxAllocatedSquared bounds steps times sigma^2, where sigma is the noise multiplier. With a larger
	// product, losses are too small for a float64 grid. A larger sigma is lowered, which costs more.
	maxAllocatedSquared = 1 << 72
	maxAllocationWork   = 1 << 26
	maxRatioPoints      = 1 << 14
)

type allocation struct {
	steps   float64
	sigma   float64
	clipped bool // steps or sigma are reduced
	laws    map[lawKey]*sumLaw
	splits  map[lawKey]*splitLaw
}

type lawKey struct {
	h, tail float64
	up      bool
}

func newAllocation(steps, sigma float64) *allocation {
	counted := math.Min(steps, MaxAllocated)
	noise := math.Min(sigma, math.Sqrt(maxAllocatedSquared/counted))
	return &allocation{counted, noise, counted < steps || noise < sigma, make(map[lawKey]*sumLaw), make(map[lawKey]*splitLaw)}
}

func (a *allocation) spread() float64 {
	v := 1 / (a.sigma * a.sigma)
	if v < 500 {
		v = math.Log1p(math.Expm1(v) / a.steps)
	}
	return math.Sqrt(v)
}

func (a *allocation) law(ctx context.Context, h, logTail float64, up bool) (*sumLaw, error) {
	h = math.Min(math.Min(h, 0.25), a.spread()/2)
	h = math.Exp2(math.Floor(2*math.Log2(h)) / 2) // few different values
	levels := 2 * float64(bits.Len64(uint64(a.steps)))
	tail := math.Exp(math.Max(-680, 8*math.Floor((logTail-math.Log(levels))/8)))
	key := lawKey{h, tail, up}
	if l, ok := a.laws[key]; ok {
		if l == nil {
			return nil, errTooLong
		}
		return l, nil
	}
	l, err := a.build(ctx, h, tail, up)
	if ctx.Err() == nil {
		a.laws[key] = l
	}
	return l, err
}

func (a *allocation) build(ctx context.Context, h, tail float64, up bool) (*sumLaw, error) {
	// On a grid of step h, sums of m ratios have the error steps/m (h m)^2, so small m needs only coarse
	// grids. If one large ratio may dominate the sum, no grid is coarse.
	largest := math.Exp(math.Min(600, (0.5/a.sigma+5)/a.sigma))
	step := func(m float64) float64 {
		coarse := math.Min(math.Sqrt(a.steps/m), 1+a.steps/largest)
		return h * math.Exp2(math.Floor(math.Log2(math.Min(coarse, math.Max(1, 0.25/h)))))
	}
	block, err := ratioLaw(a.sigma, step(1), tail, up, maxRatioPoints)
	if err != nil {
		return nil, err
	}
	var sum *sumLaw
	work := 0
	for n := uint64(a.steps); ; n >>= 1 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if n&1 == 1 && sum == nil {
			sum = block
		} else if n&1 == 1 {
			sum = sum.plus(block, step(sum.m+block.m), tail, &work)
		}
		if n == 1 {
			return sum, nil
		}
		block = block.plus(block, step(2*block.m), tail, &work)
		if n := len(block.q); work+n*n/2 > maxAllocationWork {
			return nil, errTooLong
		}
	}
}

type pointLaw struct {
	loss, logMass []float64
	zero, inf     float64 // mass under Q at loss -Inf, and under P at +Inf; upper distributions only
	slack, place  float64 // relative error of a mass; error of a loss
}

// underflow bounds the total mass that a distribution loses by rounding to 0.
const underflow = 1e-280

func (a *allocation) points(l *sumLaw) *pointLaw {
	logSteps := math.Log(a.steps)
	out := &pointLaw{slack: l.slack, place: l.place}
	if l.up {
		out.zero, out.inf = l.zero+underflow, l.inf+underflow
	}
	for i := range l.q {
		p, q := l.p[i], l.q[i]
		at, logMass := l.h*float64(l.lo+i)-logSteps, math.Log(p)
		switch {
		case !l.up && p > 1e-290 && q > 1e-290:
			at = math.Log(p / q)
		case l.up && p > 1e-290:
		case l.up && q > 1e-290:
			logMass = math.Log(q) + at
		default:
			continue
		}
		out.loss, out.logMass = append(out.loss, at), append(out.logMass, logMass)
	}
	return out
}

func (l *pointLaw) cells(h float64, width gridWidths) *cells {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, x := range l.loss {
		lo, hi = math.Min(lo, x), math.Max(hi, x)
	}
	c := newCells(h, 0, cut(lo, hi, 0, h, width))
	c.leftQ, c.rightP, c.rightLow = mathx.Log(l.zero), mathx.Log(l.inf), len(c.grid)-1
	far := math.Max(math.Abs(lo), math.Abs(hi))
	c.lossError = l.place + 0x1p-46*math.Max(far, 1)
	for i := range c.halfs {
		c.halfs[i] = halfCell{scale: math.Inf(-1), slack: l.slack}
	}
	half := func(x float64) int {
		at := max(0, sort.Search(len(c.grid)-1, func(i int) bool { return c.at(i) > x })-1) // or below x
		if x > c.at(at)+c.width(at)/2 {
			return 2*at + 1
		}
		return 2 * at
	}
	where := make([]int, len(l.loss))
	for i, x := range l.loss {
		where[i] = half(x)
		s := &c.halfs[where[i]]
		s.scale = math.Max(s.scale, l.logMass[i])
	}
	for i, x := range l.loss {
		s := &c.halfs[where[i]]
		left := c.at(where[i] / 2)
		mass := math.Exp(l.logMass[i] - s.scale)
		s.mass += mass
		s.left -= mass * math.Expm1(left-x)
		s.right -= mass * math.Expm1(left+c.width(where[i]/2)-x)
	}
	for i := range c.halfs {
		s := &c.halfs[i]
		s.left, s.right = math.Max(0, s.left), math.Min(0, s.right) // a point may be off by rounding
		s.slack += 0x1p-44
	}
	return c
}

func (a *allocation) roughLaw(ctx context.Context) roughLaw {
	var s roughLaw
	last := math.Inf(-1)
	if l, err := a.law(ctx, a.spread()/2, -40, true); err == nil {
		points := a.points(l)
		s.loss, s.logw = points.loss, points.logMass
		last = s.loss[len(s.loss)-1]
	}
	tail := mixture{1 / a.steps, a.sigma}.roughLaw(1/a.sigma + 42)
	for i, x := range tail.loss {
		if x > last {
			s.loss, s.logw = append(s.loss, x), append(s.logw, tail.logw[i])
		}
	}
	return s
}

func (a *allocation) discretise(ctx context.Context, h, logTail float64, reverse, up bool, most int, width gridWidths) (*cells, error) {
	if a.clipped && !up { // no lower bound is known
		return nil, errTooLong
	}
	points, err := a.split(ctx, 1.7*h, logTail, reverse, up)
	if err != nil || up && math.Max(points.zero, points.inf) > 12*math.Exp(logTail) { // too long, or too noisy
		var l *sumLaw
		if l, err = a.law(ctx, 0.7*h, logTail, up); err == nil {
			points = a.points(l)
		}
	}
	if err != nil {
		return nil, err
	}
	if last := len(points.loss) - 1; last < 0 || points.loss[last]-points.loss[0] > h*float64(most) {
		return nil, errTooLong
	}
	if !reverse {
		return points.cells(h, width), nil
	}
	return points.cells(h, func(from, step float64) int { return width(-from, -step) }).mirror(), nil
}

func (q *query) splits() bool {
	for i := range q.parts {
		if a := q.parts[i].spread; a != nil && a.sigma >= leastSplitNoise && q.parts[i].logTail > -34 {
			return true
		}
	}
	return false
}

func (m *Composer) allocation(p Pair) *allocation {
	if m.allocations == nil {
		m.allocations = make(map[Pair]*allocation)
	}
	if m.allocations[p] == nil {
		m.allocations[p] = newAllocation(p.a, p.b)
	}
	return m.allocations[p]
}
