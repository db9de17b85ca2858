package dpsgd

import (
	"fmt"
	"math"
)

// grid is the integer lattice on which the clipped sum of a step is noised:
// multiples of unit, a power of two.
//
// The claim of a step is that its release is a Gaussian mechanism with noise
// multiplier at least the configured one: integer vectors computed from
// neighbouring data differ by at most sensitivity in Euclidean norm, and the
// noise is discrete Gaussian with sigma >= NoiseMultiplier sensitivity on every
// coordinate. Here is the bound, with C the clip norm, P the number of
// parameters, c = C (1 + 2^-20), u = 2^-24, gamma = m u/(1 - m u), m = groupRows.
//
// Coupling. Every record of the batch is dealt to one of B blocks by a uniform
// draw of its own. Couple the runs on D and on D plus record r so that all other
// records have the same fate and the same block; B comes from the public number
// of records. Given that, all blocks but that of r hold the same records in the
// same order and give the same integers, because the contribution of a record
// does not depend on where it lies (obligation 1 of Worker). Blocks by position
// in the data would not do: removing a record moves every record behind it to
// other company, and with it the rounding of every block. The release is then
// a mixture over the coupled draws of a pair "sum" and, with probability q,
// "sum shifted by a vector of bounded norm", as in the real-number proof.
//
// One block. A block of at most m rows is summed in single precision, with an
// error of norm at most gamma m c (obligation 3), and rounded to the grid, each
// coordinate by at most 1/2. A larger block - rare, the mean is half of that -
// has its rows rounded to the grid one by one, and integers add without error.
// So the integers of the block of r differ, in units, by at most
//
//	both within m:     c/unit (1 + 2 gamma m) + sqrt(P)
//	one above m:       c/unit (1 + gamma m) + (m+2)/2 sqrt(P)
//	both above m:      c/unit + sqrt(P)/2
//
// In the second, the m rows in common were summed in one case, with error
// gamma m c and rounding sqrt(P)/2, and in the other m+1 rows were rounded, by
// sqrt(P)/2 each. Sums of blocks are integers below 2^62 and exact.
//
// Noise. For integer vectors that differ by v, D_a = a |v|^2/(2 sigma^2) at
// integer orders a, as for the continuous Gaussian: P_v/P_0 to the power k has
// expectation exp(k(k-1)|v|^2/(2 sigma^2)) times a quotient of theta sums that
// differ by an integer shift and cancel (Canonne, Kamath, Steinke 2020). For
// the sampled mixture the binomial expansion has only such terms, so the
// moments of integer order are those of the continuous sampled Gaussian. At
// other orders, and in the reverse direction, the sum over the lattice and the
// integral of the same function differ, by Poisson summation with the contour
// moved as far as the nearest zero of the mixture, by a relative amount below
// P exp(-min(1, NoiseMultiplier) sigma), and sigma is at least 2^28.
type grid struct {
	unit        float64
	sensitivity float64 // bound on the difference of neighbours, in units
	sigma       float64 // of the noise, in units; an integer
}

const (
	groupRows = 64 // rows summed in single precision
	// gridBits is log2 of the least standard deviation of the noise in units.
	// The finer the grid the less sqrt(P) weighs; 2^29 is within the exact
	// range of the sampler.
	gridBits = 28
	unit24   = 0x1p-24
)

func newGrid(noiseMultiplier, clip float64, parameters, records int) (grid, error) {
	_, exponent := math.Frexp(noiseMultiplier * clip) // in [2^(exponent-1), 2^exponent)
	g := grid{unit: math.Ldexp(1, exponent-1-gridBits)}
	const (
		m     = groupRows
		gamma = m * unit24 / (1 - m*unit24)
		slack = 1 + 0x1p-40 // rounding of this computation itself
	)
	c := clip * (1 + 0x1p-20) / g.unit
	root := math.Sqrt(float64(parameters))
	g.sensitivity = max(c*(1+2*gamma*m)+root, c*(1+gamma*m)+(m+2)/2*root) * slack
	g.sigma = math.Ceil(noiseMultiplier * g.sensitivity * slack)
	if float64(records)*(c+root) > 0x1p61 {
		return grid{}, fmt.Errorf("dpsgd: NoiseMultiplier %g is too small for %d records", noiseMultiplier, records)
	}
	return g, nil
}
