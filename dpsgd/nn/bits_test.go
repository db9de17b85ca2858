package nn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBitsCompareAsNumbersDo(t *testing.T) {
	t.Run("float32", checkBits[float32])
	t.Run("float64", checkBits[float64])
}

func checkBits[T Float](t *testing.T) {
	values := []T{T(math.Inf(-1)), -math.MaxFloat32, -2, -1, -1e-30, 0, 1e-30, 1, 1.0000002, 2, math.MaxFloat32, T(math.Inf(1))}
	for i, a := range values {
		require.Equal(t, a, ofOrder[T](order(a)))
		for j, b := range values {
			require.Equal(t, i < j, order(a) < order(b))
			if a >= 0 {
				if i > 5 {
					require.Equal(t, b, where(a, b))
				} else {
					require.Zero(t, where(a, b))
				}
			}
		}
	}
	require.Equal(t, T(3), where(T(math.NaN()), 3))
}
