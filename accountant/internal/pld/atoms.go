package pld

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// atoms is a pair with finitely many losses off + h*i, composed exactly on its own lattice. Mass beyond the
// last atom goes to infinite loss above and is dropped below.
type atoms struct {
	h, off    float64
	logp      []float64
	logBeyond float64
	logBefore float64 // mass below the first atom; moved to it above
}

// randomizedResponse has losses -epsilon and epsilon. It dominates every epsilon-DP mechanism (Kairouz, Oh,
// Viswanath 2015).
func randomizedResponse(eps float64) *atoms {
	hi := -math.Log1p(math.Exp(-eps))
	return &atoms{h: 2 * eps, off: -eps, logp: []float64{hi - eps, hi},
		logBeyond: math.Inf(-1), logBefore: math.Inf(-1)}
}

// karyResponse has losses +-epsilon and, when neither of two replaced answers is given, 0.
func karyResponse(eps, categories float64) *atoms {
	other := -mathx.LogAddExp(eps, math.Log(categories-1)) // log mass of one answer that is not the true one
	return &atoms{h: eps, off: -eps, logp: []float64{other, math.Log(categories-2) + other, eps + other},
		logBeyond: math.Inf(-1), logBefore: math.Inf(-1)}
}

// sampledResponse returns randomised response run with probability q on a record that is there, always
// answered on the rest: outcomes of mass e^-l and 1-e^-l under Q (see sampledPureCurve), or under P in
// reverse.
func sampledResponse(q, eps float64, reverse bool) *atoms {
	high, low := -mathx.LogAddExp(0, eps), -math.Log1p(math.Exp(-eps))
	u, v := mathx.LogMix(q, eps), mathx.LogMix(q, -eps)
	a := &atoms{h: u - v, off: v, logp: []float64{low + v, high + u},
		logBeyond: math.Inf(-1), logBefore: math.Inf(-1)}
	if reverse {
		a.off, a.logp = -u, []float64{high, low}
	}
	return a
}

// discreteLaplace returns noise of ratio r = e^{-1/scale} shifted by s: losses (s-2x)/scale for x = 0..s,
// with all mass at and below 0 on the first and at and above s on the last (x is where the shifted law's
// own peak sits).
func discreteLaplace(scale float64, s int64) *atoms {
	t := 1 / scale
	a := &atoms{h: 2 * t, off: -float64(s) * t, logp: make([]float64, s+1),
		logBeyond: math.Inf(-1), logBefore: math.Inf(-1)}
	l := -math.Log1p(math.Exp(-t))
	for x := int64(0); x <= s; x++ { // P centred at 0, Q at s
		v := math.Log(math.Tanh(t/2)) - float64(x)*t
		if x == 0 || x == s {
			v = l - float64(x)*t
		}
		a.logp[s-x] = v
	}
	return a
}

// discreteGaussian returns noise of weight e^{-k^2/(2 sigma^2)} on some coordinates, each shifted by 1. The
// loss (coordinates - 2x)/(2 sigma^2) depends on their sum x alone, and is kept for |x| up to 40 of its
// standard deviations; the rest has probability below 1e-340, as the noise is sub-Gaussian (Canonne,
// Kamath, Steinke 2020).
//
// The sum has weight c(x mod m) e^{-x^2/(2 m sigma^2)} on m coordinates: completing the square leaves a
// theta sum over the hyperplane of sum x, which moves by whole steps with x up to a remainder.
func discreteGaussian(sigma float64, coordinates int) *atoms {
	v, m := sigma*sigma*float64(coordinates), float64(coordinates)
	reach := int(math.Ceil(40*math.Sqrt(m)*sigma)) + coordinates
	a := &atoms{h: m / v, off: m * (m - 2*float64(reach)) / (2 * v), logp: make([]float64, 2*reach+1)}
	theta := thetas(sigma, coordinates)
	norm := 0.0
	for k := -reach; k <= reach; k++ {
		x := float64(k)
		norm += theta[remainder(k, coordinates)] * math.Exp(-x*x/(2*v))
	}
	for i := range a.logp { // i = reach - x
		x := float64(reach - i)
		a.logp[i] = -x*x/(2*v) - math.Log(norm/theta[remainder(reach-i, coordinates)])
	}
	a.logBeyond = math.Ln2 - math.Pow(float64(reach-coordinates), 2)/(2*v)
	a.logBefore = a.logBeyond
	return a
}

// thetas returns c(0) to c(m-1) of discreteGaussian for m coordinates, from those for one less: a last
// coordinate of x leaves the sum r - x to the others.
func thetas(sigma float64, m int) []float64 {
	c := []float64{1}
	for n := 2; n <= m; n++ {
		next := make([]float64, n)
		reach := int(math.Ceil(40*sigma)) + n
		w := float64(n) / (2 * float64(n-1) * sigma * sigma)
		for r := range next {
			for x := -reach; x <= reach; x++ {
				d := float64(x) - float64(r)/float64(n)
				next[r] += c[remainder(r-x, n-1)] * math.Exp(-w*d*d)
			}
		}
		c = next
	}
	return c
}

// remainder returns x mod m in [0, m).
func remainder(x, m int) int { return ((x % m) + m) % m }

// loss returns the loss of atom i, exactly 0 where it is but for rounding.
func (a *atoms) loss(i int) float64 {
	l := a.off + a.h*float64(i)
	if math.Abs(l) < 1e-9*a.h {
		return 0
	}
	return l
}

// maxLoss bounds the size of a loss.
func (a *atoms) maxLoss() float64 {
	return math.Max(math.Abs(a.off), math.Abs(a.off+a.h*float64(len(a.logp)-1)))
}

// law returns the tilted law of one step.
func (a *atoms) law(lambda float64, up bool) *tilted {
	t := &tilted{h: a.h, off: a.off, p: make([]float64, len(a.logp))}
	base := math.Inf(-1)
	for i, l := range a.logp {
		base = math.Max(base, l+lambda*(a.off+a.h*float64(i)))
	}
	sign := -1.0
	if up {
		sign = 1
		t.inf = math.Exp(a.logBeyond) * (1 + 0x1p-40)
	}
	for i, l := range a.logp {
		if up && i == 0 && !math.IsInf(a.logBefore, -1) {
			l = mathx.LogAddExp(l, a.logBefore)
		}
		// The relative error of a mass is the error of its logarithm.
		t.p[i] = math.Exp(l+lambda*(a.off+a.h*float64(i))-base) * math.Exp(sign*0x1p-50*(8+math.Abs(l)))
	}
	t.logM = base
	t.lossError = 0x1p-50 * a.maxLoss()
	t.normalise()
	t.err += 0x1p-51 * (math.Abs(base) + lambda*a.maxLoss())
	return t
}

func (a *atoms) roughLaw() roughLaw {
	return thinned(len(a.logp), func(i int) (loss, logp float64) { return a.off + a.h*float64(i), a.logp[i] })
}

// thinned lists about 2000 of n outcomes, the last included, each with the mass of those it stands for.
func thinned(n int, at func(i int) (loss, logp float64)) roughLaw {
	step := 1 + n/2000
	var s roughLaw
	for i := 0; i < n; i += step {
		loss, logp := at(i)
		s.loss, s.logw = append(s.loss, loss), append(s.logw, logp+math.Log(float64(step)))
	}
	if (n-1)%step != 0 {
		loss, logp := at(n - 1)
		s.loss, s.logw = append(s.loss, loss), append(s.logw, logp)
	}
	return s
}
