package aggregate

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// The functions below return the probability that a class beats rivals classes whose counts are all x
// noise scales lower, for continuous noise. Two classes have closed forms, which the tests compare with.

// gaussianAhead returns the integral of phi(z) Phi(z+x)^rivals dz: one rival gives Phi(x/sqrt 2). The
// trapezoid rule with step 1/(20 + 5 sqrt(rivals)) is exact to rounding, as in gaussianArgmax.
func gaussianAhead(x float64, rivals int) float64 {
	if rivals == 1 {
		return math.Erfc(-x/2) / 2
	}
	step := 1 / (20 + 5*math.Sqrt(float64(rivals)))
	total := 0.0
	for z := -10.0; z <= 10; z += step {
		win := math.Pow(math.Erfc(-(z+x)/math.Sqrt2)/2, float64(rivals))
		total += math.Exp(-z*z/2) * win
	}
	return total * step / math.Sqrt(2*math.Pi)
}

// gumbelAhead returns the exponential mechanism's softmax.
func gumbelAhead(x float64, rivals int) float64 {
	return 1 / (1 + float64(rivals)*math.Exp(-x))
}

// oneSidedAhead returns the probability of permute-and-flip: with y = e^-x, integral_0^1 (1-uy)^rivals du.
func oneSidedAhead(x float64, rivals int) float64 {
	y, k := math.Exp(-x), float64(rivals+1)
	if y == 0 {
		return 1
	}
	return -math.Expm1(k*math.Log1p(-y)) / (k * y)
}

// laplaceAhead returns the integral of f(z) F(z+x)^rivals dz in three parts. With y = e^-x and K =
// rivals+1: below -x both are exponentials, y/(K 2^K); above 0, with u = P[Z > z], integral_0^{1/2}
// (1-uy)^rivals du; between, smooth, in panels. One rival gives 1 - (2+x) e^-x / 4.
func laplaceAhead(x float64, rivals int) float64 {
	y, k := math.Exp(-x), float64(rivals+1)
	if y == 0 {
		return 1
	}
	total := y * math.Exp2(-k) / k
	total -= math.Expm1(k*math.Log1p(-y/2)) / (k * y)
	const nodes, reach = 32, 4.0
	at, weight := make([]float64, nodes), make([]float64, nodes)
	from := math.Max(-x, -60) // e^-60 of the mass lies lower
	for from < 0 {
		to := math.Min(0, from+reach/math.Max(1, math.Log2(k)))
		quad.Legendre{}.FixedLocations(at, weight, from, to)
		for i, z := range at {
			total += weight[i] * math.Exp(z) / 2 * math.Pow(1-math.Exp(-z-x)/2, float64(rivals))
		}
		from = to
	}
	return total
}
