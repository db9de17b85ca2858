package accountant

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// GaussianDelta returns the exact delta of one Gaussian release with the given noise multiplier at epsilon
// >= 0 (Balle, Wang 2018, Theorem 8), without outward rounding. Several releases are one release: their
// noise multipliers combine as 1/sqrt(sum 1/sigma_i^2).
func GaussianDelta(noiseMultiplier, epsilon float64) (float64, error) {
	if err := positive("gaussian", "noise_multiplier", noiseMultiplier); err != nil {
		return 0, err
	}
	if err := nonNegative("gaussian", "epsilon", epsilon); err != nil {
		return 0, err
	}
	return math.Exp(mathx.LogGaussianDelta(noiseMultiplier, epsilon)), nil
}

// GaussianEpsilon returns the smallest epsilon >= 0 of one Gaussian release at delta in (0, 1), never below
// the exact value by more than rounding.
func GaussianEpsilon(noiseMultiplier, delta float64) (float64, error) {
	if err := positive("gaussian", "noise_multiplier", noiseMultiplier); err != nil {
		return 0, err
	}
	if !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("accountant: delta must be in (0, 1), got %v", delta)
	}
	return mathx.GaussianEpsilon(noiseMultiplier, delta), nil
}

// GaussianNoise returns the smallest noise multiplier whose single release is (epsilon, delta)-private,
// epsilon >= 0 and delta in (0, 1).
func GaussianNoise(epsilon, delta float64) (float64, error) {
	if err := nonNegative("gaussian", "epsilon", epsilon); err != nil {
		return 0, err
	}
	if !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("accountant: delta must be in (0, 1), got %v", delta)
	}
	target := mathx.Log(delta)
	f := func(logSigma float64) bool { return mathx.LogGaussianDelta(math.Exp(logSigma), epsilon) <= target }
	lo, hi := 0.0, 0.0
	for step := 1.0; !f(hi); step *= 2 {
		lo, hi = hi, hi+step
	}
	for step := 1.0; f(lo); step *= 2 {
		hi, lo = lo, lo-step
	}
	// The root in log sigma is only good to 1e-16 max(1, |log sigma|).
	return math.Exp(mathx.Bisect(f, lo, hi)), nil
}
