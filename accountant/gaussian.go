package accountant

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// GaussianDelta returns the exact delta of one Gaussian release with the given
// noise multiplier at epsilon >= 0 (Balle, Wang 2018, Theorem 8), without outward
// rounding. Several releases are one release: their noise multipliers combine
// as 1/sqrt(sum 1/sigma_i^2).
//
// With mu = 1/noiseMultiplier, c = epsilon/mu - mu/2 and Mills ratio m,
// delta = Phi(-c) - e^epsilon Phi(-c-mu) = phi(c) (m(c) - m(c+mu)).
func GaussianDelta(noiseMultiplier, epsilon float64) (float64, error) {
	if err := positive("gaussian", "noise_multiplier", noiseMultiplier); err != nil {
		return 0, err
	}
	if err := nonNegative("gaussian", "epsilon", epsilon); err != nil {
		return 0, err
	}
	return math.Exp(gaussianLogDelta(noiseMultiplier, epsilon)), nil
}

func gaussianLogDelta(sigma, eps float64) float64 {
	mu := 1 / sigma
	c := eps*sigma - mu/2
	if math.IsInf(c, 1) {
		return math.Inf(-1)
	}
	la := mathx.LogNormalCDF(-c)
	// log of the ratio m(c+mu)/m(c), from the Mills ratios where they do not
	// overflow: there e^epsilon and the densities have cancelled already.
	var logRatio float64
	if c > -30 {
		logRatio = math.Log(mathx.Mills(c+mu) / mathx.Mills(c))
	} else {
		logRatio = eps + mathx.LogNormalCDF(-c-mu) - la
	}
	if logRatio < -0.1 {
		return la + mathx.Log1mExp(-logRatio)
	}
	// Nearly equal: m(c) - m(c+mu) = integral over t > 0 of
	// e^{-ct - t^2/2} (1 - e^{-mu t}), all positive; t = e^y and the
	// trapezoid rule. Here mu is small and c above -1/2.
	scale := 1 / math.Max(1, c)
	const step = 0.1
	sum := 0.0
	for k := -250; k <= 50; k++ { // t/scale from e^-25 to e^5
		t := scale * math.Exp(step*float64(k))
		sum += t * math.Exp(-c*t-t*t/2) * -math.Expm1(-mu*t)
	}
	return mathx.LogNormalPDF(c) + math.Log(sum*step)
}

// GaussianEpsilon returns the smallest epsilon >= 0 of one Gaussian release at
// delta in (0, 1), never below the exact value by more than rounding.
func GaussianEpsilon(noiseMultiplier, delta float64) (float64, error) {
	if err := positive("gaussian", "noise_multiplier", noiseMultiplier); err != nil {
		return 0, err
	}
	if !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("accountant: delta must be in (0, 1), got %v", delta)
	}
	target := mathx.Log(delta)
	f := func(eps float64) bool { return gaussianLogDelta(noiseMultiplier, eps) <= target }
	if f(0) {
		return 0, nil
	}
	mu := 1 / noiseMultiplier
	hi := mu*mu/2 + mu*math.Sqrt(-2*target)
	for !f(hi) {
		hi *= 2
	}
	return bisect(f, 0, hi), nil
}

// GaussianNoise returns the smallest noise multiplier whose single release is
// (epsilon, delta)-private, epsilon >= 0 and delta in (0, 1).
func GaussianNoise(epsilon, delta float64) (float64, error) {
	if err := nonNegative("gaussian", "epsilon", epsilon); err != nil {
		return 0, err
	}
	if !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("accountant: delta must be in (0, 1), got %v", delta)
	}
	target := mathx.Log(delta)
	f := func(logSigma float64) bool { return gaussianLogDelta(math.Exp(logSigma), epsilon) <= target }
	lo, hi := 0.0, 0.0
	for step := 1.0; !f(hi); step *= 2 {
		lo, hi = hi, hi+step
	}
	for step := 1.0; f(lo); step *= 2 {
		hi, lo = lo, lo-step
	}
	// The root in log sigma is only good to 1e-16 max(1, |log sigma|).
	return math.Exp(bisect(f, lo, hi)), nil
}

// bisect returns the smallest x with f(x), to the last bit, for an f that
// switches once from false at lo to true at hi.
func bisect(f func(float64) bool, lo, hi float64) float64 {
	for range 200 {
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
	return hi
}
