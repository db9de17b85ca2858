package mathx

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// expm1 sums the series in 200 bits.
func expm1(x float64) float64 {
	sum, term, at := new(big.Float).SetPrec(200), big.NewFloat(1).SetPrec(200), new(big.Float).SetPrec(200).SetFloat64(x)
	for n := 1; n < 40; n++ {
		term.Mul(term, at).Quo(term, big.NewFloat(float64(n)))
		sum.Add(sum, term)
	}
	f, _ := sum.Float64()
	return f
}

func TestExpNearZero(t *testing.T) {
	for i := -6000; i <= 6000; i++ {
		x := float64(i) * (nearZero / 6000) * (1 - 0x1p-40)
		want := expm1(x)
		require.InDelta(t, want, Expm1(x), 2*0x1p-53*math.Abs(want), "%v", x)
		require.InDelta(t, 1+want, Exp(x), 2*0x1p-53, "%v", x)
	}
}

func TestExpElsewhere(t *testing.T) {
	inf := math.Inf(1)
	for _, x := range []float64{-inf, -700, -1, -nearZero, nearZero, 1, 700, 800, inf} {
		require.Equal(t, math.Expm1(x), Expm1(x))
		require.Equal(t, math.Exp(x), Exp(x))
	}
	require.True(t, math.IsNaN(Exp(math.NaN())))
	require.True(t, math.IsNaN(Expm1(math.NaN())))
	require.Equal(t, 0x1p-1074, Expm1(0x1p-1074))
	require.Equal(t, 1.0, Exp(0))
}
