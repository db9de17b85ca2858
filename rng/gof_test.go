package rng

import (
	"flag"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

var long = flag.Bool("long", false, "play all of what tests take a sample of")

// falseAlarm is the probability that a correct sampler fails one of the goodness-of-fit tests. Their seeds
// are fixed, so they fail always or never.
const falseAlarm = testkit.FalseAlarm

// draws is how many a sampler is tested on, and a broken one of the controls.
func draws(control bool) int {
	if control || *long && !testkit.Race {
		return 1_000_000
	}
	return few(250_000)
}

// few returns n, or a tenth of it under the race detector.
func few(n int) int {
	if testkit.Race {
		return n / 10
	}
	return n
}

// pValue tests n draws from sample against prob. All below the cells with 20 expected draws, and all above,
// are one cell each.
func pValue(n int, sample func() int64, prob func(k int64) float64, center int64) float64 {
	lo, hi := center, center
	for prob(lo-1)*float64(n) >= 20 {
		lo--
	}
	for prob(hi+1)*float64(n) >= 20 {
		hi++
	}
	observed, expected := make([]float64, hi-lo+3), make([]float64, hi-lo+3)
	for range n {
		observed[min(max(sample(), lo-1), hi+1)-lo+1]++
	}
	for k := lo; k <= hi; k++ {
		expected[k-lo+1] = prob(k) * float64(n)
	}
	for i := int64(1); i < 1_000_000 && max(prob(lo-i), prob(hi+i))*float64(n) > 1e-12; i++ {
		expected[0] += prob(lo-i) * float64(n)
		expected[len(expected)-1] += prob(hi+i) * float64(n)
	}
	return testkit.ChiSquare(observed, expected)
}

func expOf(logProb func(int64) float64) func(int64) float64 {
	return func(k int64) float64 { return math.Exp(logProb(k)) }
}

func requireFits(t *testing.T, sample func() int64, prob func(int64) float64) {
	t.Helper()
	require.Greater(t, pValue(draws(false), sample, prob, 0), falseAlarm)
}

func requireCaught(t *testing.T, sample func() int64, prob func(int64) float64) {
	t.Helper()
	if testkit.Race {
		t.Skip("too few draws")
	}
	require.Less(t, pValue(draws(true), sample, prob, 0), falseAlarm)
}
