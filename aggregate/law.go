package aggregate

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
)

// Law holds the exact log probability of every answer of a mechanism on one histogram. A log probability x
// has an error of at most about 1e-9 (1 + |x|/100). A Law depends on private votes and must not be released.
type Law struct {
	LogLabels   []float64 // log probability of each class
	LogDeclined float64   // log probability that the teachers do not answer; -Inf if they always answer
}

const maxLawPoints = 1 << 22

func errLawTooWide(points float64) error {
	return fmt.Errorf("aggregate: the law of these counts with this noise needs %.3g points, but the limit is %d", points, maxLawPoints)
}

type logSum struct {
	top float64 // largest term
	sum float64 // sum of exp(term - top)
}

func newLogSums(n int) []logSum {
	sums := make([]logSum, n)
	for i := range sums {
		sums[i].top = math.Inf(-1)
	}
	return sums
}

func (s *logSum) add(term float64) {
	switch {
	case term <= s.top-750: // below the last bit, or -Inf
	case term <= s.top:
		s.sum += math.Exp(term - s.top)
	default:
		s.sum = s.sum*math.Exp(s.top-term) + 1
		s.top = term
	}
}

func (s *logSum) log() float64 { return s.top + math.Log(s.sum) }

func logsOf(sums []logSum) []float64 {
	logs := make([]float64, len(sums))
	for i := range sums {
		logs[i] = sums[i].log()
	}
	return logs
}

func always(h Histogram, labels func(counts []int64) ([]float64, error)) (Law, error) {
	if err := h.check(); err != nil {
		return Law{}, err
	}
	logs, err := labels(h.counts())
	if err != nil {
		return Law{}, err
	}
	return Law{LogLabels: logs, LogDeclined: math.Inf(-1)}, nil
}

type integerNoise interface {
	LogProb(k int64) float64
	reach(classes int) float64
	cdf(reach int64) latticeCDF
}

type latticeCDF struct {
	reach int64
	logs  []float64
}

func newLatticeCDF(reach int64) latticeCDF {
	return latticeCDF{reach: reach, logs: make([]float64, 2*reach+1)}
}

func (c latticeCDF) at(m int64) float64 { return c.logs[m+c.reach] }

func discreteArgmax(counts []int64, noise integerNoise) ([]float64, error) {
	// discreteArgmax returns log P[i] for counts plus integer noise. It sums over the largest noisy count x:
	//
	//	P[i] = sum_x p(x-n_i) T_i(x)
	//
	// T_i(x) is the probability that all other classes lose to class i at x. The lowest index wins a tie. So
	// T_i(x) is the product of F(x-1-n_j) over j < i and F(x-n_j) over j > i.
	low, high := slices.Min(counts), slices.Max(counts)
	wide := math.Ceil(noise.reach(len(counts))) + 1
	points := float64(high-low) + 2*wide
	if points > maxLawPoints {
		return nil, errLawTooWide(points)
	}
	k, reach := len(counts), int64(wide)
	cdf := noise.cdf(high - low + reach + 1)
	sums := newLogSums(k)
	wins := make([]float64, k) // log T_i(x)
	for x := low - reach; x <= high+reach; x++ {
		after := 0.0
		for i := k - 1; i >= 0; i-- {
			wins[i] = after
			after += cdf.at(x - counts[i])
		}
		before := 0.0
		for i, n := range counts {
			sums[i].add(noise.LogProb(x-n) + (wins[i] + before))
			before += cdf.at(x - 1 - n)
		}
	}
	return logsOf(sums), nil
}

func legendre(k int) (nodes, weights []float64) {
	nodes, weights = make([]float64, k/2+1), make([]float64, k/2+1)
	quad.Legendre{}.FixedLocations(nodes, weights, 0, 1)
	return nodes, weights
}
