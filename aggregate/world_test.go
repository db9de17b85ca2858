package aggregate

import (
	"math"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// A world is histograms, and every ordered pair of neighbours among them.
type world struct {
	histograms [][]int
	edges      [][]int
}

// smallWorld is every way so many teachers can vote or abstain: one of them votes otherwise, stops or starts voting.
func smallWorld(teachers, classes int) world {
	all := testkit.Histograms(teachers, classes)
	return world{all, testkit.Neighbours(all, true)}
}

type lawFunc = func(Histogram) (Law, error)

// neighbours are the laws of every pair of w.
func (w world) neighbours(t require.TestingT, law lawFunc) [][2]Law {
	laws := make([]Law, len(w.histograms))
	for i, c := range w.histograms {
		laws[i] = testkit.Must(law(histogram(t, c...)))
	}
	var pairs [][2]Law
	for i, edges := range w.edges {
		for _, j := range edges {
			pairs = append(pairs, [2]Law{laws[i], laws[j]})
		}
	}
	return pairs
}

// worst is the largest value over all pairs, for each x.
func worst(pairs [][2]Law, xs []float64, divergence func(x float64, p, q Law) float64) []float64 {
	out := make([]float64, len(xs))
	for _, pair := range pairs {
		for i, x := range xs {
			out[i] = max(out[i], divergence(x, pair[0], pair[1]))
		}
	}
	return out
}

// outcomes calls f with the two log probabilities of every answer, declining included.
func outcomes(p, q Law, f func(lp, lq float64)) {
	for i := range p.LogLabels {
		f(p.LogLabels[i], q.LogLabels[i])
	}
	f(p.LogDeclined, q.LogDeclined)
}

// renyi is D_a(p || q).
func renyi(a float64, p, q Law) float64 {
	if math.IsInf(a, 1) {
		return logRatio(p, q)
	}
	sum := newLogSums(1)
	outcomes(p, q, func(lp, lq float64) {
		if !math.IsInf(lp, -1) {
			sum[0].add(a*lp + (1-a)*lq)
		}
	})
	return sum[0].log() / (a - 1)
}

// logRatio is the largest log-ratio of p to q.
func logRatio(p, q Law) float64 {
	largest := math.Inf(-1)
	outcomes(p, q, func(lp, lq float64) {
		if !math.IsInf(lp, -1) {
			largest = max(largest, lp-lq)
		}
	})
	return largest
}

// hockeyStick is the least delta for which p is (epsilon, delta)-close to q.
func hockeyStick(epsilon float64, p, q Law) float64 {
	delta := 0.0
	outcomes(p, q, func(lp, lq float64) {
		if lp > lq+epsilon {
			delta -= math.Exp(lp) * math.Expm1(lq+epsilon-lp)
		}
	})
	return delta
}
