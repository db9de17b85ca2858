package aggregate

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
)

// integerNoise is what the law of a noisy argmax needs to know about the noise on each count.
type integerNoise interface {
	// LogProb is the logarithm of the probability of k.
	LogProb(k int64) float64
	// reach is how far below the lowest and above the largest of so many counts
	// the largest noisy count can matter to any answer's probability.
	reach(classes int) float64
	// cdf is the cumulative law up to the given distance from 0.
	cdf(reach int64) latticeCDF
}

// latticeCDF is log F(m) = log P[Z <= m] for |m| <= reach.
type latticeCDF struct {
	reach int64
	logs  []float64
}

func newLatticeCDF(reach int64) latticeCDF {
	return latticeCDF{reach: reach, logs: make([]float64, 2*reach+1)}
}

func (c latticeCDF) at(m int64) float64 { return c.logs[m+c.reach] }

// discreteArgmax returns log P[i] for counts plus integer noise by full
// summation over x, the largest noisy count:
//
//	P[i] = sum_x p(x-n_i) T_i(x)
//
// where T_i(x) is the probability that the others lose to i at x. With ties to the lowest index, that is
// F(x-1-n_j) for j < i and F(x-n_j) for j > i. With uniform ties every other class has a uniform rank u'
// of its own and i wins ties against those whose rank exceeds its rank u, so T_i(x) = integral_0^1
// prod_{j != i} (F(x-n_j) - u p(x-n_j)) du, a polynomial of degree K-1 that Gauss-Legendre with K/2 nodes
// integrates exactly. All terms are positive and added as logarithms.
func discreteArgmax(counts []int64, noise integerNoise, rule ties) ([]float64, error) {
	low, high := slices.Min(counts), slices.Max(counts)
	wide := math.Ceil(noise.reach(len(counts))) + 1
	points := float64(high-low) + 2*wide
	if points > maxLawPoints {
		return nil, errLawTooWide(points)
	}
	k, reach := len(counts), int64(wide)
	cdf := noise.cdf(high - low + reach + 1)
	var nodes, weights []float64
	if rule == uniformTies {
		nodes, weights = legendre(k)
	}

	sums := newLogSums(k)
	loses := make([]float64, k) // log probability that class j, later in order, is at most x
	wins := make([]float64, k)
	for x := low - reach; x <= high+reach; x++ {
		for j, n := range counts {
			loses[j] = cdf.at(x - n)
		}
		if rule == lowestIndex {
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

// legendre returns the Gauss-Legendre rule on [0, 1] that is exact for products of up to k linear factors.
func legendre(k int) (nodes, weights []float64) {
	nodes, weights = make([]float64, k/2+1), make([]float64, k/2+1)
	quad.Legendre{}.FixedLocations(nodes, weights, 0, 1)
	return nodes, weights
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
func uniformWins(wins, loses []float64, counts []int64, noise integerNoise, nodes, weights []float64, x int64) {
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
