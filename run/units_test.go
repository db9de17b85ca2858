package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/run"
)

// TestDefaultDelta checks that delta is at most a tenth of one over the number of units, by integers, and
// that the next digit would be more.
func TestDefaultDelta(t *testing.T) {
	for n, want := range map[int]float64{
		-3: 1e-5, 0: 1e-5, 1: 1e-5, 5000: 1e-5, 10_000: 1e-5, 10_001: 9e-6, 11_112: 8e-6, 20_000: 5e-6, 60_000: 1e-6, 99_999: 1e-6,
		100_000: 1e-6, 100_001: 9e-7, 1_000_000: 1e-7, 1<<31 - 1: 4e-11,
	} {
		require.Equal(t, want, run.DefaultDelta(n), "%d units", n)
		require.NoError(t, run.Units{N: n, Noun: "units"}.Check(run.DefaultDelta(n)))
	}
	for n := 10_000; n < 3_000_000; n += 977 {
		delta := run.DefaultDelta(n)
		require.LessOrEqual(t, 10*float64(n)*delta, 1+1e-12, "%d units", n)
		require.Greater(t, 20.000001*float64(n)*delta, 1.0, "%d units: more than a half of what is allowed", n)
	}
}
