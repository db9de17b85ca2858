package aggregate

import (
	"math"
	"slices"
)

// Law returns the law of one query of this mechanism, P[j] proportional to exp(n_j/Scale).
func (m *Exponential) Law(h Histogram) (Law, error) {
	return always(h, func(counts []int64) ([]float64, error) {
		logs := logAcceptances(counts, m.distances.Scale())
		sum := newLogSums(1)
		for _, l := range logs {
			sum[0].add(l)
		}
		total := sum[0].log()
		for j := range logs {
			logs[j] -= total
		}
		return logs, nil
	})
}

// Law returns the law of one query of this mechanism. With p_j = exp((n_j-max)/Scale),
// the probability that class j is accepted when its turn comes,
//
//	P[r] = p_r integral_0^1 prod_{j != r} (1 - u p_j) du:
//
// let every class arrive at a uniform time of its own; r wins if and only if it is accepted, and nobody
// that arrived before u, its own time, was. The integrand is a polynomial of degree K-1, integrated
// exactly by Gauss-Legendre, and is positive.
func (m *PermuteAndFlip) Law(h Histogram) (Law, error) {
	return always(h, func(counts []int64) ([]float64, error) {
		accept := logAcceptances(counts, m.distances.Scale())
		k := len(counts)
		nodes, weights := legendre(k)
		sums := newLogSums(k)
		factor := make([]float64, k)
		for q, u := range nodes {
			late := nodes[len(nodes)-1-q] // 1-u
			total := math.Log(weights[q])
			for j, a := range accept {
				factor[j] = math.Log(late - u*math.Expm1(a)) // 1 - u p_j
				total += factor[j]
			}
			for i := range sums {
				sums[i].add(total - factor[i])
			}
		}
		logs := logsOf(sums)
		for i, a := range accept {
			logs[i] += a
		}
		return logs, nil
	})
}

// logAcceptances returns (n_j - max)/scale for each class.
func logAcceptances(counts []int64, scale float64) []float64 {
	high := slices.Max(counts)
	logs := make([]float64, len(counts))
	for j, n := range counts {
		logs[j] = float64(n-high) / scale
	}
	return logs
}
