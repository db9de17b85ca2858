package mathx

import "math"

// LogGaussianDelta returns the log of the hockey-stick divergence at epsilon of N(0, sigma^2) and its
// shift by one (Balle, Wang 2018, Theorem 8). With mu = 1/sigma, c = epsilon/mu - mu/2 and Mills ratio m
// it is the log of Phi(-c) - e^epsilon Phi(-c-mu) = phi(c) (m(c) - m(c+mu)).
func LogGaussianDelta(sigma, eps float64) float64 {
	mu := 1 / sigma
	c := eps*sigma - mu/2
	if math.IsInf(c, 1) {
		return math.Inf(-1)
	}
	la := LogNormalCDF(-c)
	// log of the ratio m(c+mu)/m(c), from the Mills ratios where they do not
	// overflow: there e^epsilon and the densities have cancelled already.
	var logRatio float64
	if c > -30 {
		logRatio = math.Log(Mills(c+mu) / Mills(c))
	} else {
		logRatio = eps + LogNormalCDF(-c-mu) - la
	}
	if logRatio < -0.1 {
		return la + Log1mExp(-logRatio)
	}
	// Nearly equal: m(c) - m(c+mu) = integral over t > 0 of e^{-ct - t^2/2} (1 - e^{-mu t}), all
	// positive; t = e^y and the trapezoid rule. Here mu is small and c above -1/2.
	scale := 1 / math.Max(1, c)
	const step = 0.1
	sum := 0.0
	for k := -250; k <= 50; k++ { // t/scale from e^-25 to e^5
		t := scale * math.Exp(step*float64(k))
		sum += t * math.Exp(-c*t-t*t/2) * -math.Expm1(-mu*t)
	}
	return LogNormalPDF(c) + math.Log(sum*step)
}

// GaussianEpsilon returns the smallest epsilon >= 0 of N(0, sigma^2) and its shift by one at
// delta in (0, 1), never below the exact value by more than rounding.
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
			return math.Inf(1) // noise so small that no number is above
		}
		hi *= 2
	}
	return Bisect(f, 0, hi)
}
