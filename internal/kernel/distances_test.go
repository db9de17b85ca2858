package kernel

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestSquaredDistances compares the portable path with sums in float64, and the others with it bit for bit.
func TestSquaredDistances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		rows, k, gap, count := rapid.IntRange(1, 9).Draw(t, "rows"), rapid.IntRange(0, 70).Draw(t, "k"), rapid.IntRange(0, 3).Draw(t, "gap"), rapid.IntRange(0, 70).Draw(t, "count")
		ld := max(1, k+gap)
		m := make([]float32, (rows-1)*ld+k)
		for i := range m {
			m[i] = float32(rnd.NormFloat64())
		}
		x, places := make([]float32, k), make([]int32, count)
		for i := range x {
			x[i] = float32(rnd.NormFloat64())
		}
		want := make([]float32, count)
		for i := range places {
			places[i] = rnd.Int32N(int32(rows))
		}
		along(portable, func() { SquaredDistances(want, x, m, ld, places) })
		for i, p := range places {
			sum := 0.0
			for j, v := range x {
				d := float64(v) - float64(m[int(p)*ld+j])
				sum += d * d
			}
			require.InEpsilon(t, 1+sum, 1+float64(want[i]), 1e-5)
		}
		odd := hostile[float32]().Draw(t, "odd")
		if k > 0 && rapid.Bool().Draw(t, "hostile") {
			m[rnd.IntN(len(m))], x[rnd.IntN(k)] = odd, odd
			along(portable, func() { SquaredDistances(want, x, m, ld, places) })
		}
		for range paths[float32]() {
			got, ok := guarded(make([]float32, count))
			SquaredDistances(got, x, m, ld, places)
			bitsEqual(t, want, got)
			require.True(t, ok())
		}
	})
	x := make([]float32, 8)
	require.Panics(t, func() { SquaredDistances(x[:1], x, x, 8, nil) })
	require.Panics(t, func() { SquaredDistances(x[:1], x, x, 8, []int32{1}) })
	require.Panics(t, func() { SquaredDistances(x[:1], x, x, 8, []int32{-1}) })
}
