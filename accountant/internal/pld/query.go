package pld

import (
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

type query struct {
	parts    []component
	reverse  bool
	lambda   float64
	logDelta float64
	aimed    float64 // the epsilon for which the tilt is chosen
	steep    float64 // about -dlog(delta)/depsilon there, at least the tilt; 0 if the tilt is used instead
	tilted   bool    // keep steep at 0
	spread   float64 // standard deviation of the tilted sum
	center   float64 // mean of the tilted sum
	accuracy float64 // tilted mass that windows may leave outside
	used     float64 // share of the budget of the last plan that its grids use
}

func (q *query) moments(lambda float64) (k, k1, k2 float64) {
	for i := range q.parts {
		n := float64(q.parts[i].count)
		a, b, c := q.parts[i].roughLaw.moments(lambda)
		k, k1, k2 = k+n*a, k1+n*b, k2+n*c
	}
	return k, k1, k2
}

func roughLogDelta(lambda, k, k1, k2 float64) float64 {
	s := math.Sqrt(k2)
	gap := mathx.Mills(lambda*s) - mathx.Mills((lambda+1)*s)
	if !(gap > 0) {
		return math.Inf(-1)
	}
	return k - lambda*k1 + math.Log(gap) - 0.5*math.Log(2*math.Pi)
}

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

// aimDelta chooses the exponential tilt for computing epsilon at delta = e^logDelta.
func (q *query) aimDelta(logDelta, gap float64) {
	// If a few huge losses make up much of delta, the tilted distribution has a second mode and the first
	// guess is bad. The second guess omits rare losses that make up at most half of delta.
	q.truncateFor(logDelta, gap)
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

// aimEpsilon chooses the exponential tilt for computing delta at epsilon eps.
func (q *query) aimEpsilon(eps, gap float64) {
	// Its guess of delta is the larger of two parts: from a single huge loss (jump), and from all but very
	// rare losses.
	jump := math.Inf(-1)
	for i := range q.parts {
		s, n := q.parts[i].roughLaw, math.Log(float64(q.parts[i].count))
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
		// If no tilted mean equals eps, the term lambda (k1 - eps) corrects the exponent.
		next := roughLogDelta(lambda, k, k1, k2) + lambda*(k1-eps)
		logDelta = math.Max(-720, math.Min(logDelta, math.Max(jump, next)))
	}
	q.aim(eps, logDelta, gap)
}

// truncateFor drops losses that are too rare to affect the result at delta = e^logDelta.
func (q *query) truncateFor(logDelta, gap float64) {
	// If all pairs are Gaussian, it drops fewer losses, because the slope of -log delta is not yet computed.
	share := errorShare * gap
	if q.dense() {
		share *= leastSlope
	}
	q.truncate(logDelta + math.Log(share))
}

func (q *query) truncate(logTail float64) {
	for i := range q.parts {
		s, n := &q.parts[i].roughLaw, math.Log(float64(q.parts[i].count))
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

func (q *query) chernoff(eps float64) float64 {
	return solve(func(l float64) float64 {
		_, k1, _ := q.moments(l)
		return eps - k1
	})
}

func (q *query) aim(eps, logDelta, gap float64) {
	// Errors of the tilted distribution have the weight e^{K(lambda) - lambda eps}/delta, which is least at
	// the tilt of chernoff. For heavy tails, aim chooses a smaller tilt with shorter windows if rounding
	// stays small.
	q.logDelta, q.aimed = logDelta, eps
	want := errorShare * gap
	q.truncateFor(logDelta, gap)
	top := q.chernoff(eps)
	if q.dense() {
		q.truncate(logDelta + math.Log(slope(top)*want))
	}
	const nothing = -745 // log of the least positive float64; no tilt needs to reach deeper
	if k, _, _ := q.moments(top); k-top*eps < nothing {
		_, top = mathx.Halve(40, func(lambda float64) bool {
			k, _, _ := q.moments(lambda)
			return !(k-lambda*eps > nothing)
		}, 0, top)
	}
	if q.steep = 0; q.foreseeable(eps, top) {
		q.steep = top
	}
	best := q.cheapest(top, eps, want, gap)
	if q.steep > 0 && best < 0.7*top { // heavy tails
		q.steep = 0
		best = q.cheapest(top, eps, want, gap)
	}
	q.set(best)
	for i, rare := 0, q.sparse(); i < len(q.parts); i++ {
		q.parts[i].rare = rare
	}
	k, _, _ := q.moments(best)
	if q.dense() { // windows of several stages divide the allowed error among them
		want /= 4
	}
	q.accuracy = math.Min(1e-6, math.Max(1e-15, slope(best)*want*math.Exp(-math.Max(0, k-best*eps-logDelta))))
}

// foreseeable reports whether the sum of losses is nearly normal near eps.
func (q *query) foreseeable(eps, slope float64) bool {
	const leastSteps, mostSlope, mostSpreads = 1000, 100, 5
	if q.tilted || eps <= 0 || slope <= leastSlope || slope >= mostSlope || !q.dense() || q.steps() < leastSteps {
		return false
	}
	q.set(slope)
	return !slices.ContainsFunc(q.parts, func(c component) bool {
		return c.roughLaw.loss[len(c.roughLaw.loss)-1] > mostSpreads*q.spread
	})
}

func (q *query) steps() float64 {
	steps := 0.0
	for i := range q.parts {
		steps += float64(q.parts[i].count)
	}
	return steps
}

func (q *query) cheapest(top, eps, want, gap float64) float64 {
	best, cost := top, math.Inf(1)
	if top > 0 && len(q.parts) <= 4 {
		steps := q.steps()
		// Logs of the weight of errors relative to delta, and of the rounding noise relative to delta.
		weigh := func(lambda float64) (ratio, noise float64) {
			k, _, _ := q.moments(lambda)
			ratio = k - lambda*eps - q.logDelta
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
	return best
}

// slope approximates the slope of -log delta. No bound depends on the approximation.
func slope(lambda float64) float64 { return math.Min(1, math.Max(lambda, leastSlope)) }

func (q *query) dense() bool {
	return !slices.ContainsFunc(q.parts, func(c component) bool { return c.key.kind != pairSampled && c.key.kind != pairGaussian })
}

func (q *query) sparse() bool {
	return !q.reverse && q.steps() < 1000 && q.center < q.aimed/10 && q.dense()
}

const leastSlope, errorShare = 0.03, 0.02

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
				sum += n * parts[i].roughLaw.cumulant(l)
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
		_, _, v := q.parts[i].roughLaw.moments(q.lambda)
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
