package mathx

import "math"

// LogTheta is the log of sum_k exp(-k^2/(2 sigma^2)) over all integers k, the
// norm of the discrete Gaussian, to the last digit for sigma > 0: the sum itself
// for a small sigma, by Poisson's formula sigma sqrt(2 pi) sum_k
// exp(-2 pi^2 sigma^2 k^2) for a large one.
func LogTheta(sigma float64) float64 {
	sum := func(c float64) (s float64) {
		for k := 4.0; k > 0; k-- {
			s += 2 * math.Exp(-c*k*k)
		}
		return s
	}
	if sigma < 1/math.Sqrt(2*math.Pi) { // where both sums converge alike
		return math.Log1p(sum(1 / (2 * sigma * sigma)))
	}
	return math.Log(sigma) + math.Log(2*math.Pi)/2 + math.Log1p(sum(2*math.Pi*math.Pi*sigma*sigma))
}
