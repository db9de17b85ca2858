package dpsgd

import "math"

// laplaceScale is the scale of discrete Laplace noise, in units, for which the
// release of one parameter is a Laplace mechanism of the given noise
// multiplier: integers that differ by d <= sensitivity, under discrete Laplace
// noise of scale b >= noiseMultiplier (sensitivity + 2), reveal no more than
// reals that differ by d + 2 under continuous Laplace noise of scale b.
//
// Hockey-stick divergences decide. Let x = e^(-1/b). The privacy loss of the
// discrete pair takes the values (d-2k)/b, k = 0..d, and at epsilon = (d-2k)/b
// its divergence is 1 - x^k, which is what the continuous pair has for the same
// d, 1 - exp((epsilon - d/b)/2). In between the former is a straight line in
// e^epsilon, hence at most its value 1 - x^(k+1) at the left end, and the
// continuous one for d + 2 is at least its value at the right end, 1 -
// exp(((d-2k)/b - (d+2)/b)/2) = 1 - x^(k+1). Above d/b the former is 0, below
// -d/b it is 1 - e^epsilon, which no divergence is below. The reverse pair is the
// same by symmetry, and smaller d follow, both sides being monotone.
func laplaceScale(noiseMultiplier float64, g grid) float64 {
	return math.Ceil(noiseMultiplier * (g.sensitivity + 2) * (1 + 0x1p-40))
}
