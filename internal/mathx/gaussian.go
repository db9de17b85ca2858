package mathx

import (
	"math"
)

// LogGaussianDelta returns the log of the hockey-stick divergence at eps between N(0, sigma^2) and N(1,
// sigma^2) (Balle, Wang 2018, Theorem 8). Let mu = 1/sigma, c = eps/mu - mu/2, and let m be [Mills]. The
// divergence is Phi(-c) - e^eps Phi(-c-mu) = phi(c) (m(c) - m(c+mu)).
func LogGaussianDelta(sigma, eps float64) float64 {
	mu := 1 / sigma
	c := eps*sigma - mu/2
	if math.IsInf(c, 1) {
		return math.Inf(-1)
	}
	la := LogNormalCDF(-c)
	// log of m(c+mu)/m(c), by Mills ratios unless they overflow.
	var logRatio float64
	if c > -30 {
		logRatio = math.Log(Mills(c+mu) / Mills(c))
	} else {
		logRatio = eps + LogNormalCDF(-c-mu) - la
	}
	if logRatio < -0.1 {
		return la + Log1mExp(-logRatio)
	}
	// Here m(c) and m(c+mu) are nearly equal, mu is small and c is above -1/2. m(c) - m(c+mu) is the integral
	// over t > 0 of the positive function e^{-ct - t^2/2} (1 - e^{-mu t}). Substitute t = e^y and use the
	// trapezoid rule.
	scale := 1 / math.Max(1, c)
	const step = 0.1
	sum := 0.0
	for k := -250; k <= 50; k++ { // t/scale from e^-25 to e^5
		t := scale * math.Exp(step*float64(k))
		sum += t * math.Exp(-c*t-t*t/2) * -math.Expm1(-mu*t)
	}
	return LogNormalPDF(c) + math.Log(sum*step)
}

// GaussianEpsilon returns the smallest epsilon >= 0 with LogGaussianDelta(sigma, epsilon) <= log(delta), for
// delta in (0, 1). Rounding errors may make the result slightly too small.
func GaussianEpsilon(sigma, delta float64) float64 {
	target := Log(delta)
	f := func(eps float64) bool { return LogGaussianDelta(sigma, eps) <= target }
	if f(0) {
		return 0
	}
	mu := 1 / sigma
	hi := mu*mu/2 + mu*math.Sqrt(-2*target)
	for !f(hi) {
		if hi > math.MaxFloat64/2 {
			return math.Inf(1) // noise so small that no finite epsilon suffices
		}
		hi *= 2
	}
	return Bisect(f, 0, hi)
}

// Log returns the natural logarithm of x >= 0, also for subnormal x. On amd64, math.Log returns about -709.09
// for all subnormal x, but log(5e-324) is -744.44. If log(delta) is too large, epsilon becomes too small.
func Log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p60) - 60*math.Ln2
	}
	return math.Log(x)
}

const logSqrt2Pi = 0.918938533204672741780329736405617639861

// LogNormalPDF returns the log density of the standard normal distribution.
func LogNormalPDF(x float64) float64 { return -x*x/2 - logSqrt2Pi }

// LogNormalCDF returns log P[N(0,1) <= x]. The relative error of the probability is about 1e-15 (1 + x^2/2).
func LogNormalCDF(x float64) float64 {
	switch {
	case x > 0:
		return math.Log1p(-0.5 * math.Erfc(x/math.Sqrt2))
	case x > -5:
		return math.Log(0.5 * math.Erfc(-x/math.Sqrt2))
	default:
		return math.Log(Mills(-x)) + LogNormalPDF(x)
	}
}

// Mills returns the Mills ratio P[N(0,1) > x] / density(x). It overflows to +Inf below about -38.
func Mills(x float64) float64 {
	if x < 5 {
		return 0.5 * math.Erfc(x/math.Sqrt2) * math.Exp(x*x/2+logSqrt2Pi)
	}
	if x > 1e8 {
		return 1 / x
	}
	// Evaluate Laplace's continued fraction 1/(x+1/(x+2/(x+3/...))) from its end. For x >= 5, 80 levels
	// suffice.
	t := x
	for k := 80; k >= 1; k-- {
		t = x + float64(k)/t
	}
	return 1 / t
}

// Least returns the least integer n >= 0 with enough(n). If enough is true for n, it must be true for all
// larger integers.
func Least(enough func(int64) bool) int64 {
	low, high := int64(-1), int64(1)
	for !enough(high) {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// GoldenSection searches [lo, hi] for a minimum of f, and returns the best of at most 40 points.
func GoldenSection(f func(float64) float64, lo, hi float64) (x, fx float64) {
	const ratio = 0.6180339887498949
	a, b := hi-ratio*(hi-lo), lo+ratio*(hi-lo)
	fa, fb := f(a), f(b)
	for i := 0; i < 38 && hi-lo > 1e-7*lo; i++ {
		if fa <= fb {
			hi, b, fb = b, a, fa
			a = hi - ratio*(hi-lo)
			fa = f(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + ratio*(hi-lo)
			fb = f(b)
		}
	}
	if fa <= fb {
		return a, fa
	}
	return b, fb
}

// Bisect returns the smallest x in [lo, hi] for which f is true, or up to 2^-200 (hi-lo) more. The function f
// must be false at lo, true at hi, and must switch once.
func Bisect(f func(float64) bool, lo, hi float64) float64 {
	_, hi = Halve(200, f, lo, hi)
	return hi
}

// Halve halves the interval [lo, hi] at most `times` times. It keeps the half in which f switches from false
// to true.
func Halve(times int, f func(float64) bool, lo, hi float64) (float64, float64) {
	for range times {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if f(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo, hi
}

// LogTheta returns the logarithm of sum_k exp(-k^2/(2 sigma^2)) over all integers k. This sum normalises the
// discrete Gaussian. The result has an error of a few units in the last place.
func LogTheta(sigma float64) float64 {
	sum := func(c float64) (s float64) {
		for k := 4.0; k > 0; k-- {
			s += 2 * math.Exp(-c*k*k)
		}
		return s
	}
	if sigma < 1/math.Sqrt(2*math.Pi) { // both sums converge equally fast at this sigma
		return math.Log1p(sum(1 / (2 * sigma * sigma)))
	}
	// By Poisson's formula the sum is sigma sqrt(2 pi) sum_k exp(-2 pi^2 sigma^2 k^2).
	return math.Log(sigma) + math.Log(2*math.Pi)/2 + math.Log1p(sum(2*math.Pi*math.Pi*sigma*sigma))
}
