package mathx

import "math"

// LogTheta returns the log of sum_k exp(-k^2/(2 sigma^2)) over all integers k, for sigma > 0. That sum
// normalises the discrete Gaussian. The result is exact to the last digit. For a small sigma it computes the
// sum itself. For a large one it uses Poisson's formula, sigma sqrt(2 pi) sum_k exp(-2 pi^2 sigma^2 k^2).
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
