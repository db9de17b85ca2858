package dpsgd

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

// grid is the integer lattice for the noisy sum of the clipped gradients of a step.
//
// Theorem: the release of a step is a Gaussian mechanism with at least the configured noise multiplier. The
// proof needs two facts. The integer sums of neighbouring data have a Euclidean distance of at most
// grid.sensitivity. The noise is discrete Gaussian with sigma >= NoiseMultiplier x grid.sensitivity on every
// coordinate. Notation: P is the number of parameters, and unit is the spacing of the grid. Let q be the
// probability that a record is in the batch. C is the norm of [Clip], and c = C (1 + 2^-20). Let u = 2^-24
// and gamma = 64 u/(1 - 64 u).
//
// Coupling. Every record of the batch joins one of B blocks by its own uniform draw. Couple the runs on data
// D and on D plus record r: every other record has the same batches and blocks in both runs. The coupling
// exists because B depends only on the public number of records. All blocks except the block of r then hold
// the same records in the same order. These blocks give the same integers. The reason is that the sum of
// AddClipped does not depend on the indices of the rows (obligation 1 of Worker). So the release is a mixture
// over the coupled draws. With probability q, record r shifts the sum by a vector whose norm the next section
// bounds. With probability 1 - q, the sum stays the same. Blocks by position in the data would break the
// proof. Removing a record would then move all later records and change the rounding of every block.
//
// One block. Let L = grouping.limit and R = grouping.rows. A block is small if it has at most L records. A
// small block is split into at most s = ceil(L/R) pieces, each of at most R records. Each piece is summed in
// single precision, with an error of norm at most gamma c for each record (obligation 3 of Worker). The sum
// of a piece is rounded to the grid, each coordinate by at most 1/2. The records of a larger block are
// rounded to the grid one by one, and integers add exactly. So the integer sums of the block of r have at
// most this distance, in units:
//
//	both runs small:   c/unit (1 + 2 gamma L) + s sqrt(P)
//	one run small:     c/unit (1 + gamma L) + (s+L+1)/2 sqrt(P)
//	no run small:      c/unit + sqrt(P)/2
//
// In the first case, both runs sum at most L records in single precision. In the second case, one run sums
// the L common records with error gamma L c and rounding s sqrt(P)/2. The other run rounds L+1 records one by
// one, each by a vector of norm at most sqrt(P)/2. Sums of blocks are integers below 2^62, so their sum is
// exact.
//
// Noise. Let N_v be the noise distribution shifted by the integer vector v. At integer orders a, the Rényi
// divergence of N_v and N_0 is a |v|^2/(2 sigma^2), as for the continuous Gaussian. Under N_0, the k-th power
// of N_v/N_0 has expectation exp(k(k-1)|v|^2/(2 sigma^2)). The reason is that sums of Gaussian weights around
// two lattice points are equal (Canonne, Kamath, Steinke 2020). The likelihood ratio of a sampled step is
// (1-q) + q N_v/N_0. Integer powers of this ratio are sums of powers of N_v/N_0. So the moments of integer
// order equal the moments of the continuous sampled Gaussian. For other orders, and for exchanged data sets,
// the moment is a sum over the lattice. Compare the sum with the integral of the summand. Poisson summation
// bounds the relative difference, with the contour moved to the nearest complex zero of the likelihood ratio.
// This difference is below P exp(-min(1, NoiseMultiplier) sigma), where sigma >= 2^32.
//
// Sampling by epochs. Each record's steps are drawn independently of all other records. So couple the runs:
// every other record has the same steps and blocks. Let L_i be the likelihood ratio of step i if record r is
// in this step. Let F be the likelihood ratio of the runs with and without r. For fixed steps of r, F is the
// product of the L_i of these steps. For random steps of r, F is the mean of these products, so F is linear
// in each L_i. At integer orders a moment of F is a sum of products. Each factor is a moment of integer order
// of one L_i (see Noise). For other orders, and for exchanged data sets, fix the outputs of all steps but
// step i. Then F = A + B L_i for some A, B >= 0. So F is proportional to the likelihood ratio of a sampled
// step. The section Noise bounds the error if an integral replaces the sum over step i. The shift of a step
// may depend on earlier outputs. So start with the last step, and assume the largest shift. The largest shift
// has the largest integral for any A and B.
//
// Correlated noise. Let b be the number of bands. Let v be the change of a step's sum by a record. The record
// changes the integers before noise (floor(...) at type banded) of this step and of the next b-1 steps. The
// change is the outer product of v and a column of the Toeplitz matrix (see bandedCoefficients). The column
// has norm at most one, so the change has norm at most |v|. Rounding down adds less than one to each of bP
// coordinates, and less than sqrt(bP) to the norm. A record can join only every b-th step. So the spans of b
// steps that a record changes are disjoint. Each span is one sampled release with bP coordinates.
// Contributions of other records, and rounding errors, may depend on earlier coordinates. The bound on the
// norm holds for all values of the earlier coordinates. A shift that depends on earlier coordinates is a
// bijection of the lattice. So replace sums by integrals as in the section Noise, and start with the last
// coordinate.
//
// The unit is proportional to the clip norm, so sigma does not depend on the clip norm.
type grid struct {
	perUnit     float64 // 1/unit, with at most 24 significant bits
	sensitivity float64 // bound on the difference between neighbours, in units
	sigma       float64 // standard deviation of the noise, in units; a power of two
}

type grouping struct {
	rows  int // at most this many records are summed at a time in single precision
	limit int // larger blocks are summed one record at a time
}

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
	minGridBits, maxGridBits = 32, 40
	unit24                   = 0x1p-24
)

// newGrid returns the grid for gradients clipped to norm `clip`. Correlated noise has `floors` bands. For
// independent noise, `floors` is 0.
func newGrid(noiseMultiplier, clip float64, parameters, records, floors int) (grid, error) {
	const (
		gamma = 64 * unit24 / (1 - 64*unit24)
		slack = 1 + 0x1p-40 // rounding of this computation itself
	)
	group := groupingOf(parameters)
	limit, pieces := float64(group.limit), math.Ceil(float64(group.limit)/float64(group.rows))
	root := math.Sqrt(float64(parameters))
	const one = 1 + 0x1p-20 // c/C in the proof of grid
	// For the first two cases of the proof of grid, norms has the shift per unit of clip norm, and roundings
	// has the rounding error in grid units. The third case has a smaller bound than the second.
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

// LatticeDelta returns the part of delta to reserve for discrete noise. If you compute epsilon by privacy
// loss distributions of continuous noise, first subtract LatticeDelta from delta. Rényi accounting needs no
// reserve. The number `draws` is from [Config.GaussianDraws]. The argument `epsilon` must be at least the
// epsilon at the reduced delta.
func LatticeDelta(draws int, epsilon float64) float64 {
	// The result is (1 + e^epsilon) times a bound on the total variation distance between all drawn values
	// and rounded continuous noise. The bound is 1/(24 s^2) per value, where s is the standard deviation in
	// units of the grid.

	const each = 1.0 / 24 / (1 << minGridBits) / (1 << minGridBits)
	return (1 + math.Exp(epsilon)) * float64(draws) * each * (1 + 0x1p-40)
}

// LatticeCovered reports whether a run with discrete noise may be charged as accountant.WithFailure{event,
// failure}, at every epsilon. The argument `event` is for continuous noise, and `draws` is the result of
// [Config.GaussianDraws].
func LatticeCovered(event accountant.Event, failure float64, draws int) bool {
	// Proof. Let d be the failure, and v the total variation distance of [LatticeDelta]. Let h(t) be the
	// hockey-stick divergence of the run at epsilon ln t, and g(t) that of the event, for t >= 1. The pair of
	// WithFailure has the divergence d + (1-d) g(t). Let ln T be the epsilon of the event at delta d, by
	// Rényi divergences. These also bound the run, so h(T) <= d and g(T) <= d <= 1/2. Divergences decrease
	// with t, so h(t) <= d for t >= T. For t < T, h(t) <= g(t) + (1+t) v. So (1+t) v <= d (1-g(t)) suffices.
	// 1-g(t) is the sum of min(P, t Q), so (1-g(t))/t decreases with t. So (1+t)/(1-g(t)) <= 2t/(1-g(t)) <=
	// 2T/(1-g(T)) <= 4T, and LatticeCovered checks that 4 (1+T) v <= d. The reverse pair has the same bounds.
	// For epsilon below 0 both divergences follow from those of the reverse pair at -epsilon, by the same
	// increasing function.
	bound, err := accountant.Epsilon(context.Background(), accountant.ByRDP, accountant.AddRemove, failure, event)
	return err == nil && failure <= 0.5 && 4*LatticeDelta(draws, bound.Upper) <= failure
}

// roundDown24 keeps the 24 leading bits of v, so that a product with a float32 is exact in float64.
func roundDown24(v float64) float64 {
	return math.Float64frombits(math.Float64bits(v) &^ (1<<29 - 1))
}

// laplaceScale returns the scale of discrete Laplace noise on one parameter, in units of the grid.
func laplaceScale(noiseMultiplier float64, g grid) float64 {
	// Theorem: noise of scale b >= noiseMultiplier (sensitivity + 2) suffices. Two integers that differ by d
	// <= sensitivity, with discrete noise, reveal no more than two reals that differ by d + 2, with
	// continuous noise.
	//
	// The proof compares hockey-stick divergences. Let x = e^(-1/b). The privacy loss of the discrete pair
	// takes the values (d-2k)/b, for k = 0..d. At epsilon = (d-2k)/b the divergence of the discrete pair is 1
	// - x^k. The continuous pair with the same d has the same divergence, 1 - exp((epsilon - d/b)/2).
	//
	// Between two such values of epsilon the discrete divergence is linear in e^epsilon. So the discrete
	// divergence is at most its value at the left end, 1 - x^(k+1). The continuous divergence for d + 2 is at
	// least its value at the right end, 1 - exp(((d-2k)/b - (d+2)/b)/2) = 1 - x^(k+1). For epsilon above d/b
	// the discrete divergence is 0. For epsilon below -d/b it is 1 - e^epsilon, and no divergence is smaller.
	// By symmetry the reverse pair has the same divergences. Both divergences are monotone in d, so the
	// result holds for smaller d.
	return math.Ceil(noiseMultiplier * (g.sensitivity + 2) * (1 + 0x1p-40))
}
