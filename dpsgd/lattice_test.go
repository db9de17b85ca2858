package dpsgd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// roundedVariation returns, by summation, the total variation between the discrete Gaussian
// law of sigma s and the continuous one rounded to the nearest integer.
func roundedVariation(s float64) float64 {
	reach := int(12 * s)
	total := 0.0
	for k := -reach; k <= reach; k++ {
		total += math.Exp(-float64(k) * float64(k) / (2 * s * s))
	}
	cdf := func(x float64) float64 { return math.Erfc(-x/(s*math.Sqrt2)) / 2 }
	variation := 0.0
	for k := -reach; k <= reach; k++ {
		x := float64(k)
		variation += math.Abs(math.Exp(-x*x/(2*s*s))/total - (cdf(x+0.5) - cdf(x-0.5)))
	}
	return variation / 2
}

// TestLatticeDeltaCoversTheDifferenceOfTheLaws checks that the allowance covers the
// variation of every draw, weighed by 1 + e^epsilon. A pair whose laws each move by a total
// variation of v keeps a hockey-stick divergence within v + e^epsilon v of what it was.
func TestLatticeDeltaCoversTheDifferenceOfTheLaws(t *testing.T) {
	// s^2 times the variation tends to a constant as s grows
	constant := 0.0
	for _, s := range []float64{3, 4, 6, 8, 12, 20} {
		constant = roundedVariation(s) * s * s
		require.InDelta(t, 0.0202, constant, 0.0015, "s = %g", s)
	}
	each := constant / math.Pow(2, 2*minGridBits)
	for _, epsilon := range []float64{0, 0.5, 1, 8, 20} {
		for _, draws := range []int{1, 1000, 1 << 40} {
			least := (1 + math.Exp(epsilon)) * float64(draws) * each
			got := LatticeDelta(draws, epsilon)
			require.GreaterOrEqual(t, got, least)
			require.LessOrEqual(t, got, 2.2*least, "and is not far above")
		}
	}
}

// TestGridCoversEveryCase checks that the sensitivity is at least the bound of each of the
// three cases in the comment of grid, and that the noise is made for it.
func TestGridCoversEveryCase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := math.Exp2(rapid.Float64Range(-8, 12).Draw(t, "log2 noise multiplier"))
		clip := math.Exp2(rapid.Float64Range(-30, 30).Draw(t, "log2 clip"))
		parameters := rapid.SampledFrom([]int{1, 10, 1000, 1 << 16, 1<<16 + 1, 1 << 20}).Draw(t, "parameters")
		g, err := newGrid(z, clip, parameters, 1000, 0)
		if err != nil {
			t.Skip("too much or too little noise")
		}
		group := groupingOf(parameters)
		u := math.Pow(2, -24)
		gamma := 64 * u / (1 - 64*u)
		c := clip * (1 + math.Pow(2, -20)) * g.perUnit
		limit, root := float64(group.limit), math.Sqrt(float64(parameters))
		pieces := math.Ceil(limit / float64(group.rows))
		for name, bound := range map[string]float64{
			"both within": c*(1+2*gamma*limit) + pieces*root,
			"one above":   c*(1+gamma*limit) + (pieces+limit+1)/2*root,
			"both above":  c + root/2,
		} {
			// The last digits are covered by a slack of 2^-40, and roundings weigh 2^-33 or more.
			require.GreaterOrEqual(t, g.sensitivity, bound*(1-0x1p-50), name)
		}
		require.GreaterOrEqual(t, g.sigma, z*g.sensitivity*(1-0x1p-50))
		require.LessOrEqual(t, g.sigma, z*g.sensitivity*2.1)
	})
}
