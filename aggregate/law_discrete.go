package aggregate

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/rng"
)

// discreteArgmax returns log P[i] for counts plus discrete Gaussian noise by
// full summation over x, the largest noisy count:
//
//	P[i] = sum_x p(x-n_i) T_i(x)
//
// where T_i(x) is the probability that the others lose to i at x. With ties to
// the lowest index, that is F(x-1-n_j) for j < i and F(x-n_j) for j > i. With
// uniform ties every other class has a uniform rank u' of its own and i wins ties
// against those whose rank exceeds its rank u, so
// T_i(x) = integral_0^1 prod_{j != i} (F(x-n_j) - u p(x-n_j)) du, a polynomial
// of degree K-1 that Gauss-Legendre with K/2 nodes integrates exactly.
func discreteArgmax(counts []int64, noise *rng.DiscreteGaussian, ties Ties) ([]float64, error) {
	low, high := slices.Min(counts), slices.Max(counts)
	reach := int64(math.Ceil(lawReach*noise.Sigma())) + 1
	points := float64(high-low) + 2*float64(reach)
	if points > maxLawPoints {
		return nil, errLawTooWide(points)
	}
	k := len(counts)
	cdf := newLatticeCDF(noise, high-low+reach+1)
	var nodes, weights []float64
	if ties == UniformTies {
		nodes, weights = make([]float64, (k+1)/2), make([]float64, (k+1)/2)
		quad.Legendre{}.FixedLocations(nodes, weights, 0, 1)
	}

	sums := newLogSums(k)
	loses := make([]float64, k) // log probability that class j, later in order, is at most x
	wins := make([]float64, k)
	for x := low - reach; x <= high+reach; x++ {
		for j, n := range counts {
			loses[j] = cdf.at(x - n)
		}
		if ties == LowestIndex {
			lowestIndexWins(wins, loses, counts, cdf, x)
		} else {
			uniformWins(wins, loses, counts, noise, nodes, weights, x)
		}
		for i, n := range counts {
			sums[i].add(noise.LogProb(x-n) + wins[i])
		}
	}
	logs := make([]float64, k)
	for i := range sums {
		logs[i] = sums[i].log()
	}
	return logs, nil
}

// lowestIndexWins sets wins[i] to log T_i(x).
func lowestIndexWins(wins, loses []float64, counts []int64, cdf latticeCDF, x int64) {
	after := 0.0
	for i := len(wins) - 1; i >= 0; i-- {
		wins[i] = after
		after += loses[i]
	}
	before := 0.0
	for i, n := range counts {
		wins[i] += before
		before += cdf.at(x - 1 - n)
	}
}

// uniformWins sets wins[i] to log T_i(x).
func uniformWins(wins, loses []float64, counts []int64, noise *rng.DiscreteGaussian, nodes, weights []float64, x int64) {
	sums := newLogSums(len(wins))
	factor := make([]float64, len(wins))
	for q, u := range nodes {
		total := math.Log(weights[q])
		for j, n := range counts {
			factor[j] = loses[j] + math.Log1p(-u*math.Exp(noise.LogProb(x-n)-loses[j]))
			total += factor[j]
		}
		for i := range sums {
			sums[i].add(total - factor[i])
		}
	}
	for i := range wins {
		wins[i] = sums[i].log()
	}
}

// latticeCDF is log F(m) = log P[Z <= m] for |m| <= reach.
type latticeCDF struct {
	reach int64
	logs  []float64
}

// newLatticeCDF sums the lower tail upwards: F(m) = p(m) S(m) with
// S(m) = 1 + S(m-1) p(m-1)/p(m), all terms positive. The upper half is 1 minus
// the tail above, which the lower half knows by symmetry.
func newLatticeCDF(noise *rng.DiscreteGaussian, reach int64) latticeCDF {
	c := latticeCDF{reach: reach, logs: make([]float64, 2*reach+1)}
	sigma := noise.Sigma()
	logAtReach := logAtLeast(noise, reach)
	c.logs[0] = logAtReach
	s := math.Exp(logAtReach - noise.LogProb(reach))
	for m := 1 - reach; m <= 0; m++ {
		s = 1 + s*math.Exp((2*float64(m)-1)/sigma/sigma/2)
		c.logs[m+reach] = noise.LogProb(m) + math.Log(s)
	}
	for m := int64(1); m <= reach; m++ {
		above := logAtReach // for m = reach an upper bound, and below the last bit of 1
		if m < reach {
			above = c.logs[reach-m-1]
		}
		c.logs[m+reach] = mathx.Log1mExp(-above)
	}
	return c
}

func (c latticeCDF) at(m int64) float64 { return c.logs[m+c.reach] }

// logAtLeast is log P[Z >= m]. The ratio of the sum's terms to its first,
// exp(-(i^2 + 2 i m)/(2 sigma^2)), falls below the last bit within 9 sigma.
func logAtLeast(noise *rng.DiscreteGaussian, m int64) float64 {
	if m <= 0 {
		return mathx.Log1mExp(-logAtLeast(noise, 1-m))
	}
	sigma, sum := noise.Sigma(), 0.0
	for i := 0.0; ; i++ {
		term := math.Exp(-i * (i + 2*float64(m)) / sigma / sigma / 2)
		if sum += term; term < 1e-17*sum {
			return noise.LogProb(m) + math.Log(sum)
		}
	}
}
