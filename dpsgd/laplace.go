package dpsgd

import "math"

// laplaceScale returns the scale of discrete Laplace noise, in units, for which the release
// of one parameter is a Laplace mechanism of the given noise multiplier. The claim:
// integers that differ by d <= sensitivity, under discrete Laplace noise of scale
// b >= noiseMultiplier (sensitivity + 2), reveal no more than reals that differ by d + 2
// under continuous Laplace noise of scale b.
//
// The proof compares hockey-stick divergences. Let x = e^(-1/b). The privacy loss of the
// discrete pair takes the values (d-2k)/b, k = 0..d. At epsilon = (d-2k)/b its divergence
// is 1 - x^k. The continuous pair has the same for the same d, 1 - exp((epsilon - d/b)/2).
//
// Between two such values of epsilon the discrete divergence is a straight line in
// e^epsilon, hence at most its value 1 - x^(k+1) at the left end. The continuous divergence
// for d + 2 is at least its value at the right end, 1 - exp(((d-2k)/b - (d+2)/b)/2)
// = 1 - x^(k+1). Above d/b the discrete divergence is 0. Below -d/b it is 1 - e^epsilon,
// and no divergence is smaller than that. The reverse pair is the same by symmetry. Smaller
// d follow, because both sides are monotone.
func laplaceScale(noiseMultiplier float64, g grid) float64 {
	return math.Ceil(noiseMultiplier * (g.sensitivity + 2) * (1 + 0x1p-40))
}
