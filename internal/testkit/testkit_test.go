package testkit

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDivergences(t *testing.T) {
	p, q := []float64{0.5, 0.5, 0}, []float64{0.25, 0.25, 0.5}
	require.InDelta(t, 0.5, HockeyStick(p, q, 0), 1e-15)
	require.InDelta(t, 0, HockeyStick(p, q, math.Log(2)), 1e-15)
	require.InDelta(t, 0.5, EitherHockeyStick(p, q, math.Log(2)), 1e-15)
	require.InDelta(t, math.Log(2), Renyi(p, q, 7), 1e-14)
}

// TestChiSquare checks the merging of small cells, and that a law off by a tenth is found.
func TestChiSquare(t *testing.T) {
	expected := []float64{5000, 3000, 1990, 4, 6}
	require.InDelta(t, 1, ChiSquare(expected, expected), 1e-12)
	require.Less(t, ChiSquare([]float64{5500, 2500, 1990, 4, 6}, expected), FalseAlarm)
	require.Zero(t, ChiSquare([]float64{5000, 100}, []float64{5096, 4}), "what cannot happen happened often")
	require.InDelta(t, 1, ChiSquare([]float64{50}, []float64{50}), 0)
}
