package kernel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNotBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "n")
		low := rapid.OneOf(rapid.Float32Range(-3, 0), rapid.Just(float32(math.Inf(-1))))
		x := rapid.SliceOfN(low, n, n).Draw(t, "x")
		y := rapid.SliceOfN(rapid.Float32Range(0, 1), n, n).Draw(t, "y")
		floor := rapid.Float32Range(-3, 3).Draw(t, "floor")
		if n > 0 && rapid.Bool().Draw(t, "odd") {
			x[rapid.IntRange(0, n-1).Draw(t, "place")] = hostile[float32]().Draw(t, "value")
		}
		want := slices.IndexFunc(x, func(float32) bool { return false })
		for i := n - 1; i >= 0; i-- {
			if !(x[i]-y[i] < floor) {
				want = i
			}
		}
		if want < 0 {
			want = n
		}
		for _, on := range paths[float32]() {
			require.Equal(t, want, notBelow(on, x, y, floor))
			require.Equal(t, 0, notBelow(on, append([]float32{1}, x...), append([]float32{0}, y...), float32(math.NaN())))
		}
	})
	require.Panics(t, func() { NotBelow(make([]float32, 2), make([]float32, 3), 1) })
}
