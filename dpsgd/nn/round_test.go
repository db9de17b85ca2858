package nn

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTowardsZeroNeverGrows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 3))
	for range 10000 {
		v := rnd.NormFloat64() * math.Exp2(rnd.Float64()*280-160)
		f := float64(towardsZero[float32](v))
		require.LessOrEqual(t, math.Abs(f), math.Abs(v))
		require.InDelta(t, v, f, math.Abs(v)*0x1p-23+0x1p-149)
	}
	require.Equal(t, 0.1, towardsZero[float64](0.1))
}
