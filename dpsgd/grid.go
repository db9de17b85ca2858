package dpsgd

import (
	"fmt"
	"math"
)

// grid is the integer lattice on which noise is added to the clipped sum of a step.
//
// The claim of a step: its release is a Gaussian mechanism with noise multiplier at least the configured one.
// This needs two facts. Integer vectors computed from neighbouring data differ by at most sensitivity in
// Euclidean norm, and the noise is discrete Gaussian with sigma >= NoiseMultiplier sensitivity on every
// coordinate. The bound follows, with C the norm of [Clip], P the number of parameters, c = C (1 + 2^-20), u
// = 2^-24 and gamma = 64 u/(1 - 64 u).
//
// Coupling. Every record of the batch is assigned to one of B blocks by its own uniform draw. Couple the runs
// on D and on D plus record r so that all other records are in the batch in both or in neither, and in the
// same block. This is possible because B comes from the public number of records. Then all blocks but the
// block of r hold the same records in the same order. They give the same integers, because what a call adds
// does not depend on where its records lie (obligation 1 of Worker). Blocks by position in the data would not
// do: removing a record moves every record behind it to another block or place, and so changes the rounding
// of every block. The release is then a mixture over the coupled draws of a pair: "sum" and, with probability
// q, "sum shifted by a vector of bounded norm". This is as in the real-number proof.
//
// One block. A block is small if it has at most L = limit records. In a small block every piece of at most
// rows records is summed in single precision, with an error of norm at most gamma c for each record
// (obligation 3). The sum is rounded to the grid, each coordinate by at most 1/2. There are at most s =
// ceil(L/rows) pieces. Larger blocks are rare, because the mean is 3/4 of rows. Their records are rounded to
// the grid one by one, and integers add without error. So the integers of the block of r differ, in units, by
// at most
//
//	both within L:     c/unit (1 + 2 gamma L) + s sqrt(P)
//	one above L:       c/unit (1 + gamma L) + (s+L+1)/2 sqrt(P)
//	both above L:      c/unit + sqrt(P)/2
//
// In the first case, two sums of at most L records replace exact sums. In the second, one run summed the L
// common records, with error gamma L c and rounding s sqrt(P)/2. The other run rounded L+1 records, by
// sqrt(P)/2 each. Sums of blocks are integers below 2^62 and exact.
//
// Noise. For integer vectors that differ by v, D_a = a |v|^2/(2 sigma^2) at integer orders a, as for the
// continuous Gaussian. The reason: P_v/P_0 to the power k has expectation exp(k(k-1)|v|^2/(2 sigma^2)) times
// a quotient of theta sums that differ by an integer shift and cancel (Canonne, Kamath, Steinke 2020). For
// the sampled mixture the binomial expansion has only such terms. So the moments of integer order equal the
// moments of the continuous sampled Gaussian. At other orders, and in the reverse direction, compare the sum
// over the lattice with the integral of the same function. By Poisson summation, with the contour moved as
// far as the nearest zero of the mixture, they differ by a relative amount below P exp(-min(1,
// NoiseMultiplier) sigma), and sigma is at least 2^32.
//
// Sampling by epochs. The steps of a record are drawn for it alone, so the coupling above holds with "in the
// same steps" for "in the batch". The likelihood ratio of a run with record r to the run without is then an
// average over the choices of r of products of ratios L_i, one for each step i that r is in, and it is linear
// in each L_i. At integer orders it expands into the same terms as before, one factor for each step. At other
// orders, and in the reverse direction, the sum over the lattice of a step is compared with the integral
// while all other steps are fixed: in that step the ratio is A + B L_i with A, B >= 0, which is the ratio of
// a sampled step up to a factor. Shifts may depend on earlier outputs: the last step is replaced first, and
// by the largest shift, which by the continuous case is the worst for any A and B.
//
// Correlated noise. A record that is drawn in a step changes the integers y of that step and of the next
// bands - 1 steps. The change is the column of C, of norm at most one, times the vector by which the record
// moves the sum, so its norm is no larger than that vector's. Rounding down adds less than one in every
// coordinate of these steps, a norm below sqrt(bands P). The record's next step is a whole turn later, so the
// blocks of steps that it may change are disjoint, and each is a sampled release of bands P coordinates in
// sequence. Other records' contributions, and so the rounding, may depend on the coordinates before; the
// bound on the norm holds along every path, and a shift that depends on the coordinates before is a bijection
// of the lattice. So the last coordinate is replaced first, as above.
//
// Sigma has the same size for all clip norms, because the unit follows the norm. So one sampler serves a run
// whose clip norm moves.
type grid struct {
	perUnit     float64 // 1/unit, of at most 24 significant bits
	sensitivity float64 // bound on the difference of neighbours, in units
	sigma       float64 // of the noise, in units; a power of two
}

// grouping determines how the records of a block are summed. It depends on the number of parameters alone.
type grouping struct {
	rows  int // at most this many are summed at a time in single precision
	limit int // above this many, records are summed one at a time
}

// groupingOf returns the grouping for a number of parameters. If rounding sums to the grid is expensive, it
// takes more records at a time, at the price of a larger bound.
func groupingOf(parameters int) grouping {
	if parameters <= 1<<16 {
		return grouping{rows: 64, limit: 128}
	}
	return grouping{rows: MaxRows, limit: MaxRows}
}

func (g grouping) blocks(expected float64) int {
	return max(1, int(math.Ceil(expected/(0.75*float64(g.rows)))))
}

const (
	// On a finer grid sqrt(P) weighs less, and the discrete distribution is closer to the continuous one (see
	// LatticeDelta).
	minGridBits, maxGridBits = 32, 40
	unit24                   = 0x1p-24
)

// newGrid returns the grid for a sum of contributions of norm clip. If noise is correlated, contributions are
// rounded down once more in a number of releases, floors: see banded.
func newGrid(noiseMultiplier, clip float64, parameters, records, floors int) (grid, error) {
	const (
		gamma = 64 * unit24 / (1 - 64*unit24)
		slack = 1 + 0x1p-40 // rounding of this computation itself
	)
	group := groupingOf(parameters)
	limit, pieces := float64(group.limit), math.Ceil(float64(group.limit)/float64(group.rows))
	root := math.Sqrt(float64(parameters))
	// These are the two larger cases: a contribution of norm 1 with its float error, and roundings in units.
	const one = 1 + 0x1p-20
	norms := [2]float64{one * (1 + 2*gamma*limit), one * (1 + gamma*limit)}
	roundings := [2]float64{pieces * root, (pieces + limit + 1) / 2 * root}
	for i := range roundings {
		roundings[i] += math.Sqrt(float64(floors)) * root
	}
	var g grid
	for bits := minGridBits; g.perUnit == 0; bits++ {
		g.sigma = math.Ldexp(1, bits)
		within := g.sigma / (noiseMultiplier * slack)
		clipUnits := min((within-roundings[0])/norms[0], (within-roundings[1])/norms[1])
		share := clipUnits * norms[0] / within // the rest is left for rounding
		switch {
		case share >= 1-0x1p-10 || bits == maxGridBits && share >= 0.5:
			g.perUnit = roundDown24(clipUnits / (clip * slack))
		case bits == maxGridBits:
			return grid{}, fmt.Errorf("dpsgd: NoiseMultiplier %g is too large for %d parameters", noiseMultiplier, parameters)
		}
	}
	c := clip * g.perUnit
	g.sensitivity = max(c*norms[0]+roundings[0], c*norms[1]+roundings[1]) * slack
	if float64(records)*(c*one+root) > 0x1p61 {
		return grid{}, fmt.Errorf("dpsgd: NoiseMultiplier %g is too small for %d records", noiseMultiplier, records)
	}
	return g, nil
}

// LatticeDelta returns the allowance for discrete noise that an accountant of privacy loss distributions
// needs if its bounds are for continuous Gaussian noise. Subtract it from delta before the accountant
// computes an epsilon for delta. draws is the number of values drawn; epsilon is about the computed epsilon.
//
// The allowance is (1 + e^epsilon) times the total variation distance of all draws from the continuous
// distribution rounded to the grid: at most 1/(24 s^2) for each draw, for a standard deviation of s units.
// Rényi accounting needs no such allowance.
func LatticeDelta(draws int, epsilon float64) float64 {
	const each = 1.0 / 24 / (1 << minGridBits) / (1 << minGridBits)
	return (1 + math.Exp(epsilon)) * float64(draws) * each * (1 + 0x1p-40)
}

// roundDown24 returns the 24 leading bits of v, so that its products with float32 numbers are exact doubles.
func roundDown24(v float64) float64 {
	return math.Float64frombits(math.Float64bits(v) &^ (1<<29 - 1))
}

// laplaceScale returns the scale of discrete Laplace noise, in units, for which the release of one parameter
// is a Laplace mechanism of the given noise multiplier. The claim: integers that differ by d <= sensitivity,
// under discrete Laplace noise of scale b >= noiseMultiplier (sensitivity + 2), reveal no more than reals
// that differ by d + 2 under continuous Laplace noise of scale b.
//
// The proof compares hockey-stick divergences. Let x = e^(-1/b). The privacy loss of the discrete pair takes
// the values (d-2k)/b, k = 0..d. At epsilon = (d-2k)/b its divergence is 1 - x^k. The continuous pair has the
// same for the same d, 1 - exp((epsilon - d/b)/2).
//
// Between two such values of epsilon the discrete divergence is a straight line in e^epsilon, hence at most
// its value 1 - x^(k+1) at the left end. The continuous divergence for d + 2 is at least its value at the
// right end, 1 - exp(((d-2k)/b - (d+2)/b)/2) = 1 - x^(k+1). Above d/b the discrete divergence is 0. Below
// -d/b it is 1 - e^epsilon, and no divergence is smaller. The reverse pair is the same by symmetry. Smaller d
// follow, because both sides are monotone.
func laplaceScale(noiseMultiplier float64, g grid) float64 {
	return math.Ceil(noiseMultiplier * (g.sensitivity + 2) * (1 + 0x1p-40))
}
