package rng

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/internal/testkit"
)

// falseAlarm is the probability that a correct sampler fails one of the
// goodness-of-fit tests. Their seeds are fixed, so they fail always or never.
const falseAlarm = 1e-9

var draws = func() float64 {
	if testkit.Race {
		return 100_000
	}
	return 1_000_000
}()

// few returns n, or a tenth of it under the race detector.
func few(n int) int {
	if testkit.Race {
		return n / 10
	}
	return n
}

// pValue returns the p-value of Pearson's chi-square test of draws from sample against
// prob. Cells with fewer than 20 expected draws are merged on either side.
func pValue(sample func() int64, prob func(k int64) float64, center int64) float64 {
	lo, hi := center, center
	for prob(lo-1)*draws >= 20 {
		lo--
	}
	for prob(hi+1)*draws >= 20 {
		hi++
	}
	observed := make([]float64, hi-lo+3)
	for range int(draws) {
		observed[min(max(sample(), lo-1), hi+1)-lo+1]++
	}
	expected := make([]float64, len(observed))
	for k := lo; k <= hi; k++ {
		expected[k-lo+1] = prob(k) * draws
	}
	for k := lo - 1; k > lo-1_000_000 && prob(k) > 0; k-- {
		expected[0] += prob(k) * draws
	}
	for k := hi + 1; k < hi+1_000_000 && prob(k) > 0; k++ {
		expected[len(expected)-1] += prob(k) * draws
	}
	var chi2 float64
	cells := 0
	for i := range observed {
		if expected[i] < 5 { // a tail too thin for the test; it must be thin in the sample too
			if observed[i] > expected[i]+45 { // Poisson(5): probability below 1e-22
				return 0
			}
			continue
		}
		cells++
		chi2 += (observed[i] - expected[i]) * (observed[i] - expected[i]) / expected[i]
	}
	if cells < 2 {
		return 1
	}
	return distuv.ChiSquared{K: float64(cells - 1)}.Survival(chi2)
}

func expOf(logProb func(int64) float64) func(int64) float64 {
	return func(k int64) float64 { return math.Exp(logProb(k)) }
}

func requireFits(t *testing.T, sample func() int64, prob func(int64) float64) {
	t.Helper()
	require.Greater(t, pValue(sample, prob, 0), falseAlarm)
}

func requireCaught(t *testing.T, sample func() int64, prob func(int64) float64) {
	t.Helper()
	if testkit.Race {
		t.Skip("too few draws")
	}
	require.Less(t, pValue(sample, prob, 0), falseAlarm)
}
