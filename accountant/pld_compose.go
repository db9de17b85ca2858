package accountant

import (
	"context"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// query is one composition to evaluate: pairs in one order, tilted towards
// where the answer is expected.
type query struct {
	parts    []component
	reverse  bool
	lambda   float64
	logDelta float64
	spread   float64 // standard deviation of the tilted sum
	center   float64 // its mean
	accuracy float64 // tilted mass that windows may leave outside
}

// moments of the rough sum.
func (q *query) moments(lambda float64) (k, k1, k2 float64) {
	for i := range q.parts {
		n := float64(q.parts[i].count)
		a, b, c := q.parts[i].scout.moments(lambda)
		k, k1, k2 = k+n*a, k1+n*b, k2+n*c
	}
	return k, k1, k2
}

// roughLogDelta is delta at the tilted mean for a normal tilted law:
// e^{K - lambda K'} (m(lambda s) - m((lambda+1) s))/sqrt(2 pi), m the Mills ratio.
func roughLogDelta(lambda, k, k1, k2 float64) float64 {
	s := math.Sqrt(k2)
	gap := mathx.Mills(lambda*s) - mathx.Mills((lambda+1)*s)
	if !(gap > 0) {
		return math.Inf(-1)
	}
	return k - lambda*k1 + math.Log(gap) - 0.5*math.Log(2*math.Pi)
}

// solve finds lambda >= 0 at which the decreasing f changes sign.
func solve(f func(lambda float64) float64) float64 {
	if f(0) <= 0 {
		return 0
	}
	lo, hi := 0.0, 1.0
	for f(hi) > 0 {
		if hi > 1e15 {
			return hi
		}
		lo, hi = hi, hi*8
	}
	for range 60 {
		mid := (lo + hi) / 2
		if lo > 0 {
			mid = math.Sqrt(lo * hi)
		}
		if f(mid) > 0 {
			lo = mid
		} else {
			hi = mid
		}
		if hi-lo < 0.01*hi {
			break
		}
		if hi < 1e-9 {
			return 0
		}
	}
	return hi
}

// aimDelta tilts for the epsilon whose delta is e^logDelta. Where a few huge
// losses make up much of delta the tilted law of the whole has a second mode and
// misleads; the law without losses so rare that they take half of delta at
// most gives a better guess there, and the smaller of the two is used.
func (q *query) aimDelta(logDelta, gap float64) {
	q.truncate(logDelta + math.Log(errorShare*gap))
	guess := func(r *query, logDelta float64) float64 {
		_, eps, _ := r.moments(solve(func(l float64) float64 {
			k, k1, k2 := r.moments(l)
			return roughLogDelta(l, k, k1, k2) - logDelta
		}))
		return eps
	}
	eps := guess(q, logDelta)
	common := &query{parts: append([]component(nil), q.parts...)}
	common.truncate(logDelta - math.Log(2*float64(len(q.parts))))
	if e := guess(common, logDelta-math.Ln2); e < eps {
		eps = e
	}
	q.aim(math.Max(0, eps), logDelta, gap)
}

// aimEpsilon tilts for the delta at epsilon. One huge loss brings at least some
// of it; how much the bulk brings is guessed without losses that are too rare
// to matter beside the guess.
func (q *query) aimEpsilon(eps, gap float64) {
	jump := math.Inf(-1)
	for i := range q.parts {
		s, n := q.parts[i].scout, math.Log(float64(q.parts[i].count))
		for j, l := range s.loss {
			if l > eps {
				jump = math.Max(jump, n+s.logw[j]+mathx.Log1mExp(l-eps))
			}
		}
	}
	logDelta := 0.0
	for range 3 {
		r := &query{parts: append([]component(nil), q.parts...)}
		r.truncate(logDelta + math.Log(errorShare*gap))
		lambda := r.chernoff(eps)
		k, k1, k2 := r.moments(lambda)
		// Away from the tilted mean (all losses, or none, are smaller) the
		// exponent still says most.
		next := roughLogDelta(lambda, k, k1, k2) + lambda*(k1-eps)
		logDelta = math.Max(-720, math.Min(logDelta, math.Max(jump, next)))
	}
	q.aim(eps, logDelta, gap)
}

// truncate forgets losses that n steps meet with probability below e^logTail.
func (q *query) truncate(logTail float64) {
	for i := range q.parts {
		s, n := &q.parts[i].scout, math.Log(float64(q.parts[i].count))
		sum, end := math.Inf(-1), len(s.loss)
		for end > 2 {
			if sum = mathx.LogAddExp(sum, s.logw[end-1]); sum+n > logTail {
				break
			}
			end--
		}
		s.loss, s.logw = s.loss[:end], s.logw[:end]
		q.parts[i].logTail = logTail
	}
}

// chernoff returns the tilt with mean epsilon, 0 if the mean is above already.
func (q *query) chernoff(eps float64) float64 {
	return solve(func(l float64) float64 {
		_, k1, _ := q.moments(l)
		return eps - k1
	})
}

// aim chooses the tilt for an answer near (epsilon, e^logDelta). Errors of the
// tilted law weigh e^{K(lambda) - lambda epsilon}/delta, least at Chernoff's
// point; a smaller tilt is taken where it leaves rounding harmless and needs
// shorter windows, as it does for laws with heavy tails.
func (q *query) aim(eps, logDelta, gap float64) {
	q.logDelta = logDelta
	q.truncate(logDelta + math.Log(errorShare*gap))
	want := errorShare * gap
	top := q.chernoff(eps)
	const nothing = -745 // log of the least positive float64: no tilt needs to reach deeper
	if k, _, _ := q.moments(top); k-top*eps < nothing {
		lo, hi := 0.0, top
		for range 40 {
			mid := lo + (hi-lo)/2
			if k, _, _ := q.moments(mid); k-mid*eps > nothing {
				lo = mid
			} else {
				hi = mid
			}
		}
		top = hi
	}
	best, cost := top, math.Inf(1)
	if top > 0 && len(q.parts) <= 4 {
		steps := 0.0
		for i := range q.parts {
			steps += float64(q.parts[i].count)
		}
		// ratio of errors to delta, and the noise of the transforms in it
		weigh := func(lambda float64) (ratio, noise float64) {
			k, _, _ := q.moments(lambda)
			ratio = k - lambda*eps - logDelta
			h := math.Sqrt(8 * gap / (lambda + 1) / steps)
			noise = ratio + math.Log(2e-14*steps) - 0.5*math.Log(2*h*lambda*(lambda+1)*(2*lambda+1))
			return ratio, noise
		}
		_, limit := weigh(top)
		limit = math.Max(limit+1, math.Log(want))
		for f := 1.0; f > 0.05; f *= 0.75 {
			ratio, noise := weigh(f * top)
			if noise > limit {
				continue
			}
			q.set(f * top)
			if c := q.cost(gap, math.Max(0, ratio)-math.Log(want)); c < 0.9*cost {
				best, cost = f*top, c
			}
		}
	}
	q.set(best)
	k, _, _ := q.moments(best)
	q.accuracy = math.Min(1e-6, math.Max(1e-15, want*math.Exp(-math.Max(0, k-best*eps-logDelta))))
}

// errorShare is the part of the gap, as a relative error of delta, that tails
// and windows may take.
const errorShare = 0.02

// cost estimates the sum of window lengths of a plan at tails e^-depth.
func (q *query) cost(gap, depth float64) float64 {
	top, stages := q.plan(gap)
	side := func(parts []component, sign, scale float64, counts float64) float64 {
		best := math.Inf(1)
		k := func(l float64) float64 {
			sum := 0.0
			for i := range parts {
				n := counts
				if n == 0 {
					n = float64(parts[i].count)
				}
				a, _, _ := parts[i].scout.moments(l)
				sum += n * a
			}
			return sum
		}
		base := k(q.lambda)
		for e := -3.0; e <= 2; e++ {
			t := math.Sqrt(2*depth) / scale * math.Exp2(e)
			best = math.Min(best, (k(q.lambda+sign*t)-base+depth)/t)
		}
		return best
	}
	total := (side(q.parts, 1, q.spread, 0) + side(q.parts, -1, q.spread, 0)) / top
	for i := range q.parts {
		count := float64(q.parts[i].count)
		_, _, v := q.parts[i].scout.moments(q.lambda)
		n := 1.0
		for _, s := range stages[i] {
			n *= float64(s.power)
			if n < count || s.h > 0 {
				one := q.parts[i : i+1]
				total += (side(one, 1, math.Sqrt(n*v), n) + side(one, -1, math.Sqrt(n*v), n)) / s.h
			}
		}
	}
	return total
}

func (q *query) set(lambda float64) {
	_, k1, k2 := q.moments(lambda)
	q.lambda, q.center, q.spread = lambda, k1, math.Sqrt(k2)
}

// stage is one level of a composition: blocks on a grid of step h, power of
// them convolved into one block of the next stage.
type stage struct {
	h     float64
	power int64
}

// ratioPerStage is how many blocks one convolution takes; the best is flat.
const ratioPerStage = 32

// plan chooses grids. Splitting the mass of a cell of width h between its ends
// raises the variance of a loss by h^2/6 on average, merging lowers it by
// h^2/12, so C steps on a grid of step h put upper and lower epsilon apart by
// (lambda+1) C h^2/8. Blocks of steps need only coarser grids, so a long
// composition is built in stages: fine grids with narrow windows first
// (evolving discretisation; Ghazi, Kamath, Kumar, Manurangsi 2022).
func (q *query) plan(gap float64) (top float64, stages [][]stage) {
	budget := 8 * gap / (q.lambda + 1)
	stages = make([][]stage, len(q.parts))
	units, blocks := 0, 0.0
	for i := range q.parts {
		c := &q.parts[i]
		count := c.count
		topCount := math.Max(1, ratioPerStage/float64(len(q.parts)))
		if c.atoms != nil {
			_, _, v := c.scout.moments(q.lambda)
			// As long as the window on the own lattice is short, composing
			// there is exact.
			most := math.Pow(16000*c.atoms.h/20, 2) / math.Max(v, 1e-300)
			m := min(count, max(1, int64(math.Min(most, 1e18))))
			stages[i] = append(stages[i], stage{c.atoms.h, m})
			count /= m
		}
		ownGrid := c.key.kind == pairLaplace || c.key.kind == pairRange // divides epsilon
		if ownGrid {
			topCount = 1
		}
		n := float64(count) / topCount
		levels := int(math.Round(math.Log(math.Max(n, 1)) / math.Log(ratioPerStage)))
		if n >= 6 || ownGrid {
			levels = max(levels, 1)
		}
		for l := levels; l > 0; l-- {
			m := niceDivisor(count, math.Pow(math.Max(1, float64(count)/topCount), 1/float64(l)))
			stages[i] = append(stages[i], stage{0, m})
			units++
			count /= m
		}
		blocks += float64(count) + 1
	}
	topBudget := budget / (1 + math.Min(float64(units), 2))
	top = math.Sqrt(topBudget / blocks)
	if q.spread > 0 && gap < 1 {
		top = math.Min(top, q.spread/4)
	}
	top = q.align(top)
	for i := range q.parts {
		count := float64(q.parts[i].count)
		steps := make([]float64, len(stages[i]))
		for j, s := range stages[i] {
			steps[j] = math.Sqrt((budget - topBudget) / float64(units) / count)
			count /= float64(s.power)
		}
		above := top
		for j := len(stages[i]) - 1; j >= 0; j-- {
			if stages[i][j].h > 0 { // own lattice
				continue
			}
			ratio := math.Max(1, math.Ceil(above/steps[j]))
			if math.Mod(ratio, 2) == 0 { // odd, so that no point is halfway
				ratio++
			}
			above /= ratio
			if c := &q.parts[i]; j == 0 && (c.key.kind == pairLaplace || c.key.kind == pairRange) {
				above = c.key.a / math.Max(1, math.Ceil(c.key.a/above-1e-9))
			}
			stages[i][j].h = above
		}
	}
	return top, stages
}

// align shrinks a grid step until the atoms of the pair that runs least often,
// hence has the heaviest atoms left, lie on grid points: off the grid they
// cost accuracy of first order in the step.
func (q *query) align(h float64) float64 {
	unit, least := 0.0, int64(math.MaxInt64)
	for i := range q.parts {
		c := &q.parts[i]
		if c.count > least {
			continue
		}
		switch c.key.kind {
		case pairLaplace:
			unit, least = c.key.a, c.count
		case pairResponse:
			unit, least = 2*c.key.a, c.count
		case pairDiscreteLaplace:
			unit, least = 2/c.key.a, c.count
		}
	}
	switch {
	case unit > h:
		return unit / math.Ceil(unit/h-1e-9)
	case unit > 0:
		return unit * math.Floor(h/unit*(1+1e-12))
	}
	return h
}

// niceDivisor returns a divisor of n within a factor 1.7 of m, if there is
// one, the nearest such; else m rounded.
func niceDivisor(n int64, m float64) int64 {
	if m >= float64(n) {
		return n
	}
	best, cost := max(2, int64(math.Round(m))), math.Inf(1)
	for d := max(2, int64(m/1.7)); float64(d) <= m*1.7; d++ {
		if n%d == 0 {
			if c := math.Abs(math.Log(float64(d) / m)); c < cost {
				best, cost = d, c
			}
		}
	}
	return min(best, n)
}

// compose returns the law of the whole sum on one grid.
func (q *query) compose(c *convolver, gap float64, up bool) (*tilted, error) {
	top, stages := q.plan(gap)
	c.accuracy = q.accuracy
	if len(q.parts) == 1 && len(stages[0]) == 1 && stages[0][0].power == q.parts[0].count {
		// One mechanism that has its own lattice stays there.
		step, err := q.parts[0].law(stages[0][0].h, q.lambda, q.reverse, up, c.maxLength)
		if err != nil {
			return nil, err
		}
		return c.convolve(1, factor{step, q.parts[0].count})
	}
	var factors []factor
	for i := range q.parts {
		fs, err := q.build(c, &q.parts[i], stages[i], top, up)
		if err != nil {
			return nil, err
		}
		factors = append(factors, fs...)
	}
	return c.convolve(1, factors...)
}

// build runs one component through its stages and returns what is left to
// convolve on the top grid: blocks, and at most one shorter remainder.
func (q *query) build(c *convolver, part *component, stages []stage, top float64, up bool) ([]factor, error) {
	first := top
	if len(stages) > 0 {
		first = stages[0].h
	}
	block, err := part.law(first, q.lambda, q.reverse, up, c.maxLength)
	if err != nil {
		return nil, err
	}
	count := part.count
	var rest *tilted
	for j, s := range stages {
		next := top
		if j+1 < len(stages) {
			next = stages[j+1].h
		}
		left := count % s.power
		count /= s.power
		var pieces []factor
		if left > 0 {
			pieces = append(pieces, factor{block, left})
		}
		if rest != nil {
			pieces = append(pieces, factor{rest, 1})
		}
		full, err := c.convolve(count, factor{block, s.power})
		if err != nil {
			return nil, err
		}
		if len(pieces) > 0 {
			if rest, err = c.convolve(1, pieces...); err != nil {
				return nil, err
			}
			if rest, err = rest.coarsen(next, q.lambda, up, c.maxLength); err != nil {
				return nil, err
			}
		}
		if block, err = full.coarsen(next, q.lambda, up, c.maxLength); err != nil {
			return nil, err
		}
	}
	factors := []factor{{block, count}}
	if rest != nil {
		factors = append(factors, factor{rest, 1})
	}
	return factors, nil
}

// coarsen moves a law to the grid of step h unless it is there already, if so
// many points suffice.
func (t *tilted) coarsen(h, lambda float64, up bool, most int) (*tilted, error) {
	if t.h == h {
		return t, nil
	}
	if t.h*float64(len(t.p)) > h*float64(most) {
		return nil, errTooLong
	}
	return t.onto(h, lambda, up), nil
}

// profile is delta as a function of epsilon, one side of it.
type profile struct {
	t      *tilted
	lambda float64
	up     bool
	// With x the distance above point k: excess[k] is the tilted mean of
	// e^{-lambda x} (1 - e^-x), rest[k] that of e^{-(lambda+1) x}, over x >= 0.
	excess, rest []float64
	weight       float64 // max over x > 0 of w(x) = e^{-lambda x} (1 - e^-x)
	spread       float64 // bounds sqrt(h sum of w(x)^2) on the lattice and all finer ones
}

func newProfile(t *tilted, lambda float64, up bool) *profile {
	n := len(t.p)
	p := &profile{t: t, lambda: lambda, up: up, excess: make([]float64, n), rest: make([]float64, n)}
	down, step, decay := math.Exp(-lambda*t.h), -math.Expm1(-t.h), math.Exp(-(lambda+1)*t.h)
	e, r := 0.0, 0.0
	for k := n - 1; k >= 0; k-- { // no cancellation: all terms are positive
		e = down * (e + step*r)
		r = t.p[k] + decay*r
		p.excess[k], p.rest[k] = e, r
	}
	p.weight = 1
	if lambda > 0 {
		p.weight = math.Exp(-lambda*math.Log1p(1/lambda)) / (1 + lambda)
	}
	// The integral of w^2 is 1/(2 l (l+1) (2l+1)); a sum over a lattice of step h
	// exceeds it over h by the maximum at most, as w has one peak.
	square := 2 * t.h * float64(n)
	if lambda > 0 {
		square = math.Min(square, 1/(2*lambda*(lambda+1)*(2*lambda+1)))
	}
	p.spread = math.Sqrt(square + t.h*p.weight*p.weight)
	return p
}

// delta bounds delta at epsilon from the profile's side, all errors included:
// those of the law's masses weigh at most weight each, or spread for noise,
// those of its losses move epsilon, mass at infinity counts in full.
func (p *profile) delta(eps float64) float64 {
	t := p.t
	if p.up {
		eps -= t.lossError
	} else {
		eps += t.lossError
	}
	last := len(t.p) - 1
	body := 0.0
	if eps < t.loss(last) {
		k := int(math.Floor((eps - t.loss(0)) / t.h))
		switch {
		case k < 0:
			a := t.loss(0)
			body = (p.excess[0] - p.rest[0]*math.Expm1(eps-a)) * math.Exp(t.logM-p.lambda*a)
		case k >= last:
			// rounding put eps past the last point
		default: // linear in e^eps between points
			a := t.loss(k)
			w := math.Min(math.Max(math.Expm1(eps-a)/math.Expm1(t.h), 0), 1)
			body = (p.excess[k]*(1-w) + p.excess[k+1]*math.Exp(-p.lambda*t.h)*w) * math.Exp(t.logM-p.lambda*a)
		}
	}
	rounding := 0x1p-49 * (16 + float64(last)/64 + math.Abs(t.logM) + p.lambda*math.Abs(eps))
	fault := (t.err*p.weight + t.noise*p.spread) * math.Exp(t.logM-p.lambda*eps)
	if p.up {
		d := body*(1+rounding) + fault*(1+rounding) + t.inf
		if math.IsNaN(d) {
			return 1
		}
		return math.Min(1, mathx.Up(d))
	}
	d := body*(1-rounding) - fault*(1+rounding)
	if !(d > 0) {
		return 0
	}
	return math.Min(1, d)
}

// epsilon bounds, from the profile's side, the least epsilon >= 0 whose delta
// is at most the given one: above by an epsilon at which the upper delta is,
// below by one at which the lower delta is not.
func (p *profile) epsilon(delta float64) float64 {
	if p.up && p.delta(0) <= delta {
		return 0
	}
	// Away from the tilted mean the faults outgrow delta on the left, so the
	// search starts on the right.
	hi := math.Max(1e-300, p.t.loss(len(p.t.p)-1)+2*p.t.lossError)
	for try := 0; p.delta(hi) > delta; try++ {
		if try == 60 {
			if p.up {
				return math.Inf(1)
			}
			return hi
		}
		hi *= 2
	}
	lo := hi
	for step := hi / 1024; p.delta(lo) <= delta; step *= 1.1 {
		if lo == 0 {
			return 0
		}
		hi = lo
		lo = math.Max(0, lo-step)
	}
	for hi-lo > 1e-14*hi {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if p.delta(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	if p.up {
		return hi
	}
	return lo
}

// upperEpsilon and lowerEpsilon are what a profile answers, or nothing does.
func upperEpsilon(p *profile, delta float64) float64 {
	if p == nil {
		return math.Inf(1)
	}
	return p.epsilon(delta)
}

func lowerEpsilon(p *profile, delta float64) float64 {
	if p == nil {
		return 0
	}
	return p.epsilon(delta)
}

// newConvolver shares transforms within one account.
func (p *PLD) newConvolver(ctx context.Context) *convolver {
	return &convolver{ctx: ctx, plans: p.plans, maxLength: int(p.cfg.MaxMemory / bytesPerPoint)}
}

// bytesPerPoint is the memory of a convolution per point of its window, the
// laws before and after and cached roots of unity included.
const bytesPerPoint = 160
