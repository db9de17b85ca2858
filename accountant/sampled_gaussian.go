package accountant

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// sampledGaussianCurve returns the Rényi curve of Gaussian noise on a Poisson sample, for the relation
// add/remove.
func sampledGaussianCurve(q, sigma float64) curve {
	// The curve is log E[(1-q+q e^u)^a]/(a-1), u = (2x-1)/(2 sigma^2), x ~ N(0, sigma^2). The divergence of
	// the mixture from N(0, sigma^2) is the larger direction (Mironov, Talwar, Zhang 2019). The log moment is
	// convex in a and 0 at a = 1.
	g := newSampledGaussian(q, sigma)
	plain := gaussianCurve(1 / sigma)
	return func(a float64) float64 {
		if math.IsInf(a, 1) {
			return a
		}
		return math.Min(atLeastTiny(g.logMoment(a)/(a-1)), plain(a))
	}
}

// sampledDiscreteGaussianCurve expects `sigma` to be Sigma/Sensitivity of the event DiscreteGaussian.
func sampledDiscreteGaussianCurve(q, sigma float64) curve {
	// At an integer order the moment is a binomial sum of unsampled moments. These equal the moments of
	// continuous noise (Canonne, Kamath, Steinke 2020). Between integers the log moment is convex. Reflection
	// at half the shift swaps both distributions. So the divergence of the mixture from the noise is the
	// larger direction (Mironov, Talwar, Zhang 2019, Theorem 5).
	g := newSampledGaussian(q, sigma)
	plain := gaussianCurve(1 / sigma)
	return func(a float64) float64 {
		if a > maxBinomial {
			return plain(a)
		}
		return math.Min(atLeastTiny(g.betweenIntegers(a)/(a-1)), plain(a))
	}
}

const smallSigma = 0.04

const maxBinomial = 64

type sampledGaussian struct {
	q, sigma        float64
	logq, log1mq    float64
	step            float64
	first           int    // index of table[0]: node k is at z = k*step
	table           []node // part of the grid, extended on demand
	logs, binomials []float64
}

type node struct {
	weight float64 // exp(-z^2/2)
	r, l   float64 // r = q(e^u - 1), l = log(1 + r)
	z      float64
}

func newSampledGaussian(q, sigma float64) *sampledGaussian {
	return &sampledGaussian{
		q: q, sigma: sigma,
		logq: math.Log(q), log1mq: math.Log1p(-q),
		// The integrand is analytic in the strip |Im z| < pi sigma. There it is at most e^{(Im z)^2/2} times
		// its size on the real line. So the relative error of the trapezoid rule is below 1e-17 at this step.
		step: math.Min(0.5, sigma/2.5),
	}
}

// logMoment returns a-1 times the Rényi divergence of order a, or an upper bound. The order must be finite
// and above 1.
func (g *sampledGaussian) logMoment(a float64) float64 {
	if a == math.Trunc(a) && a <= maxBinomial {
		return g.binomial(int(a))
	}
	if g.sigma >= smallSigma {
		return g.quadrature(a)
	}
	if a >= maxBinomial {
		return a * (a - 1) / (2 * g.sigma * g.sigma) // without sampling
	}
	return g.betweenIntegers(a)
}

// betweenIntegers bounds a-1 times the Rényi divergence of order a in (1, maxBinomial]. The bound is exact at
// integers.
func (g *sampledGaussian) betweenIntegers(a float64) float64 { return chord(a, g.binomial) }

// binomial returns n-1 times the Rényi divergence of integer order n >= 1.
func (g *sampledGaussian) binomial(n int) float64 {
	// The binomial weights sum to one, and the exponent is zero for k = 0, 1. So the moment minus 1 is
	// sum_{k>=2} C(n,k) (1-q)^{n-k} q^k (e^{k(k-1)/(2 sigma^2)} - 1).
	if n == 1 {
		return 0
	}
	logs, choose := g.binomials[:0], float64(n)
	for k := 2; k <= n; k++ {
		choose *= float64(n-k+1) / float64(k)
		x := float64(k) * float64(k-1) / (2 * g.sigma * g.sigma)
		logs = append(logs, math.Log(choose)+float64(n-k)*g.log1mq+float64(k)*g.logq+mathx.LogExpm1(x))
	}
	g.binomials = logs
	return mathx.LogAddExp(0, mathx.LogSumExp(logs))
}

// quadrature returns the log of the moment M = E[(1+r)^a] at any real order a. The ratio 1+r is the density
// of the sampled output divided by the density of the noise.
func (g *sampledGaussian) quadrature(a float64) float64 {
	// As E[r] = 0, M - 1 is E[(1+r)^a - 1 - a r]. This integrand is never negative, so M - 1 has full
	// relative accuracy.

	const margin = 9.5 // e^{-margin^2/2} is below 1e-19
	far := int(math.Ceil((math.Max(a, 2)/g.sigma + margin) / g.step))
	near := min(far, int(math.Ceil((2/g.sigma+margin)/g.step)))
	left := -int(math.Ceil(margin / g.step))

	// Usually one window covers everything. If a/sigma is large, there may be a second peak near a/sigma. The
	// peak is the largest solution of z = (a/sigma) p(z). Iteration approaches it from above.
	g.logs = g.logs[:0]
	top := math.Inf(-1)
	at := func(k int) float64 {
		v := g.logTerm(g.node(k), a)
		g.logs = append(g.logs, v)
		top = math.Max(top, v)
		return v
	}
	if far-near <= 400 {
		return g.sum(left, far, a)
	}
	z := a / g.sigma
	for range 1000 {
		p := 1 / (1 + math.Exp(g.log1mq-g.logq-g.exponent(z)))
		next := a / g.sigma * p
		if z-next < 0.5 {
			break
		}
		z = next
	}
	right := int(math.Ceil(z/g.step)) + 1
	g.grow(left, near)
	for k := left; k <= near; k++ {
		at(k)
	}
	if right <= near {
		for k, low := near+1, 0; low < 3 && k <= far; k++ {
			low = count(low, at(k) < top-46)
		}
		return mathx.LogAddExp(0, g.scale(mathx.LogSumExp(g.logs)))
	}
	top = math.Max(top, g.logTerm(g.node(right), a))
	end := near
	for k, low := near+1, 0; low < 3 && k < right; k++ {
		low = count(low, at(k) < top-46)
		end = k
	}
	for k, low := right, 0; low < 3 && k > end; k-- {
		low = count(low, at(k) < top-46)
	}
	for k, low := right+1, 0; low < 3 && k <= far; k++ {
		low = count(low, at(k) < top-46)
	}
	return mathx.LogAddExp(0, g.scale(mathx.LogSumExp(g.logs)))
}

func count(n int, small bool) int {
	if small {
		return n + 1
	}
	return 0
}

func (g *sampledGaussian) scale(logSum float64) float64 {
	return logSum + math.Log(g.step) - 0.5*math.Log(2*math.Pi)
}

func (g *sampledGaussian) sum(left, right int, a float64) float64 {
	g.grow(left, right)
	nodes := g.table[left-g.first : right-g.first+1]
	if last := nodes[len(nodes)-1]; a*last.l > 300 || last.z > 24 {
		g.logs = g.logs[:0]
		for i := range nodes {
			g.logs = append(g.logs, g.logTerm(nodes[i], a))
		}
		return mathx.LogAddExp(0, g.scale(mathx.LogSumExp(g.logs)))
	}
	total := 0.0
	for i := range nodes {
		total += nodes[i].weight * excess(nodes[i].r, nodes[i].l, a)
	}
	return math.Log1p(total * g.step / math.Sqrt(2*math.Pi))
}

func (g *sampledGaussian) logTerm(n node, a float64) float64 {
	if a*n.l > 300 { // the rest is below e^-300 + a r e^{-a l}, negligible
		return a*n.l - n.z*n.z/2
	}
	return math.Log(excess(n.r, n.l, a)) - n.z*n.z/2
}

func (g *sampledGaussian) exponent(z float64) float64 {
	return z/g.sigma - 0.5/(g.sigma*g.sigma)
}

func (g *sampledGaussian) compute(k int) node {
	z := float64(k) * g.step
	u := g.exponent(z)
	n := node{weight: math.Exp(-z * z / 2), z: z, r: g.q * math.Expm1(u)}
	if n.r > -0.5 && u < 700 {
		n.l = math.Log1p(n.r)
	} else {
		n.l = mathx.LogAddExp(g.log1mq, g.logq+u)
	}
	return n
}

func (g *sampledGaussian) node(k int) node {
	if i := k - g.first; i >= 0 && i < len(g.table) {
		return g.table[i]
	}
	return g.compute(k)
}

// grow extends g.table to index right. The index left must be the same in all calls for one g.
func (g *sampledGaussian) grow(left, right int) {
	if g.table == nil {
		g.first = left
	}
	for k := g.first + len(g.table); k <= right; k++ {
		g.table = append(g.table, g.compute(k))
	}
}
