package kernel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestAddInts compares each path with the conversion of one integer at a time. Integers of all sizes are
// among them, and ones that lie halfway between doubles.
func TestAddInts(t *testing.T) {
	odd := []int64{0, 1, -1, 1 << 53, 1<<53 + 1, -1<<53 - 1, 1<<54 + 2, 1<<54 + 6, 1<<32 - 1, -1 << 32, math.MaxInt64, math.MinInt64}
	integer := rapid.OneOf(rapid.SampledFrom(odd), rapid.Int64())
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "n")
		sum := rapid.SliceOfN(integer, n, n).Draw(t, "sum")
		noise := rapid.SliceOfN(integer, n, n).Draw(t, "noise")
		scale := rapid.SampledFrom([]float64{1, 0x1p-40, 1.0 / 3}).Draw(t, "scale")
		want, scaled := slices.Clone(sum), make([]float64, n)
		for i, v := range noise {
			want[i] += v
			scaled[i] = float64(want[i]) * scale
		}
		for on := range paths[float32]() {
			total, part := append(slices.Clone(sum), 77), append(make([]float64, n), 77)
			AddInts(part[:n], total[:n], noise, scale)
			require.Equal(t, append(slices.Clone(want), 77), total, "%v", on)
			require.Equal(t, append(slices.Clone(scaled), 77), part, "%v", on)
		}
	})
	require.Panics(t, func() { AddInts(make([]float64, 2), make([]int64, 3), make([]int64, 2), 1) })
	require.Panics(t, func() { AddInts(make([]float64, 2), make([]int64, 2), make([]int64, 3), 1) })
}

func TestDescend(t *testing.T) {
	t.Run("float32", testDescend[float32])
	t.Run("float64", testDescend[float64])
}

// testDescend compares each path with one parameter at a time, bit for bit. One number that is not finite,
// wherever it lies, is told.
func testDescend[T Float](t *testing.T) {
	gradients := rapid.SampledFrom([]float64{0, math.Inf(1), math.NaN(), 1e300, 1e39})
	few := func(t *rapid.T, n int, all *rapid.Generator[float64]) []float64 {
		x := rapid.SliceOfN(rapid.Float64Range(-2, 2), n, n).Draw(t, "ordinary")
		if n > 0 && rapid.Bool().Draw(t, "odd") {
			x[rapid.IntRange(0, n-1).Draw(t, "place")] = all.Draw(t, "one")
		}
		return x
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "n")
		gradient := few(t, n, gradients)
		x := make([]T, n)
		for i, v := range few(t, n, rapid.Map(hostile[T](), func(v T) float64 { return float64(v) })) {
			x[i] = T(v)
		}
		decay := rapid.SampledFrom([]float64{0, 0.01, 1}).Draw(t, "decay")
		rate := rapid.SampledFrom([]float64{1, 0.1, 3}).Draw(t, "rate")
		want, finite := make([]T, n), true
		for i, v := range x {
			pull := float64(decay * float64(v))
			move := float64(rate * float64(gradient[i]+pull))
			want[i] = T(float64(v) - move)
			finite = finite && !math.IsNaN(float64(want[i])) && !math.IsInf(float64(want[i]), 0)
		}
		for on := range paths[T]() {
			got, ok := guarded(x)
			require.Equal(t, finite, Descend(got, gradient, decay, rate), "%v", on)
			bitsEqual(t, want, got)
			require.True(t, ok())
		}
	})
	require.Panics(t, func() { Descend(make([]T, 2), make([]float64, 3), 0, 1) })
}
