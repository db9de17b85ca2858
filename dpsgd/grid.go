package dpsgd

import (
	"fmt"
	"math"
)

// grid is the integer lattice on which the clipped sum of a step is noised.
//
// The claim of a step is that its release is a Gaussian mechanism with noise
// multiplier at least the configured one: integer vectors computed from
// neighbouring data differ by at most sensitivity in Euclidean norm, and the
// noise is discrete Gaussian with sigma >= NoiseMultiplier sensitivity on every
// coordinate. Here is the bound, with C the norm of [Clip], P the number of
// parameters, c = C (1 + 2^-20), u = 2^-24, gamma = 64 u/(1 - 64 u).
//
// Coupling. Every record of the batch is dealt to one of B blocks by a uniform
// draw of its own. Couple the runs on D and on D plus record r so that all other
// records have the same fate and the same block; B comes from the public number
// of records. Given that, all blocks but that of r hold the same records in the
// same order and give the same integers, because what a call adds does not
// depend on where its records lie (obligation 1 of Worker). Blocks by position
// in the data would not do: removing a record moves every record behind it to
// other company, and with it the rounding of every block. The release is then
// a mixture over the coupled draws of a pair "sum" and, with probability q,
// "sum shifted by a vector of bounded norm", as in the real-number proof.
//
// One block. Of a block of at most L = limit records every piece of at most
// rows is summed in single precision, with an error of norm at most gamma c for
// each record (obligation 3), and rounded to the grid, each coordinate by at
// most 1/2; there are at most s = ceil(L/rows) pieces. A larger block - rare, the
// mean is 3/4 of rows - has its records rounded to the grid one by one, and
// integers add without error. So the integers of the block of r differ, in units,
// by at most
//
//	both within L:     c/unit (1 + 2 gamma L) + s sqrt(P)
//	one above L:       c/unit (1 + gamma L) + (s+L+1)/2 sqrt(P)
//	both above L:      c/unit + sqrt(P)/2
//
// In the first, two sums of at most L records stand in for exact ones. In the
// second, the L records in common were summed in one case, with error gamma L c
// and rounding s sqrt(P)/2, and in the other L+1 records were rounded, by
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
// P exp(-min(1, NoiseMultiplier) sigma), and sigma is at least 2^32.
//
// The size of sigma is the same for all clip norms: the unit follows them, so
// that one sampler serves a run whose clip norm moves.
type grid struct {
	perUnit     float64 // 1/unit, of at most 24 significant bits
	sensitivity float64 // bound on the difference of neighbours, in units
	sigma       float64 // of the noise, in units; a power of two
}

// grouping says how the records of a block are summed. It depends on the number
// of parameters alone.
type grouping struct {
	rows  int // at most so many at a time in single precision
	limit int // above so many one at a time
}

// groupingOf takes more records at a time where rounding sums to the grid is
// dear, and pays with a larger bound.
func groupingOf(parameters int) grouping {
	if parameters <= 1<<16 {
		return grouping{rows: 64, limit: 128}
	}
	return grouping{rows: MaxRows, limit: MaxRows}
}

// blocks is the number of blocks for batches of the expected size.
func (g grouping) blocks(expected float64) int {
	return max(1, int(math.Ceil(expected/(0.75*float64(g.rows)))))
}

const (
	// The finer the grid the less sqrt(P) weighs, and the less the discrete law
	// differs from the continuous one (see LatticeDelta).
	minGridBits, maxGridBits = 32, 40
	unit24                   = 0x1p-24
)

// newGrid makes the grid for a sum of contributions of norm clip.
func newGrid(noiseMultiplier, clip float64, parameters, records int) (grid, error) {
	const (
		gamma = 64 * unit24 / (1 - 64*unit24)
		slack = 1 + 0x1p-40 // rounding of this computation itself
	)
	group := groupingOf(parameters)
	limit, pieces := float64(group.limit), math.Ceil(float64(group.limit)/float64(group.rows))
	root := math.Sqrt(float64(parameters))
	// The two larger cases: a contribution of norm 1 with its float error, and
	// roundings in units.
	const one = 1 + 0x1p-20
	norms := [2]float64{one * (1 + 2*gamma*limit), one * (1 + gamma*limit)}
	roundings := [2]float64{pieces * root, (pieces + limit + 1) / 2 * root}
	var g grid
	for bits := minGridBits; g.perUnit == 0; bits++ {
		g.sigma = math.Ldexp(1, bits)
		within := g.sigma / (noiseMultiplier * slack)
		clipUnits := min((within-roundings[0])/norms[0], (within-roundings[1])/norms[1])
		share := clipUnits * norms[0] / within // the rest is for rounding
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

// LatticeDelta is what to take off a delta before an accountant of the privacy
// loss distribution answers for it, about epsilon, for releases that draw so many
// numbers: its bounds are for continuous Gaussian noise, and what is drawn is
// discrete. It is (1 + e^epsilon) times the total variation of all draws from
// the continuous law rounded to the grid, at most 1/(24 s^2) each for a standard
// deviation of s units. Rényi accounting needs no such allowance.
func LatticeDelta(draws int, epsilon float64) float64 {
	const each = 1.0 / 24 / (1 << minGridBits) / (1 << minGridBits)
	return (1 + math.Exp(epsilon)) * float64(draws) * each * (1 + 0x1p-40)
}

// roundDown24 leaves the 24 leading bits of v, so that its products with
// float32 numbers are exact doubles.
func roundDown24(v float64) float64 {
	return math.Float64frombits(math.Float64bits(v) &^ (1<<29 - 1))
}
