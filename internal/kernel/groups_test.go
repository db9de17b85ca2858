package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const lanes = 8
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 10))
		k, groups := rapid.IntRange(1, 9).Draw(t, "k"), rapid.IntRange(0, 5).Draw(t, "groups")
		src := make([]float32, 40)
		for i := range src {
			src[i] = float32(rnd.NormFloat64())
		}
		n := GroupOutputs*lanes*groups + 3
		sum, difference := make([]float32, n), make([]float32, n)
		var want [2][]float64 // of both products
		want[0], want[1] = make([]float64, n), make([]float64, n)
		size := 0.0
		g := new(Groups)
		for group := range groups {
			var out [GroupOutputs]int
			for i := range out {
				out[i] = 3 + (group*GroupOutputs+i)*lanes
			}
			var inputs [2]GroupInputs
			for half := range inputs {
				for range rnd.IntN(k + 1) {
					from := rnd.IntN(len(src) - lanes + 1)
					inputs[half].In = append(inputs[half].In, from)
					for _, at := range out {
						w := float32(rnd.NormFloat64())
						inputs[half].Weights = append(inputs[half].Weights, w)
						for l := range lanes {
							term := float64(w) * float64(src[from+l])
							want[half][at+l] += term
							size = max(size, math.Abs(term))
						}
					}
				}
			}
			g.Add(out, inputs[0], inputs[1])
		}
		along(drawn(t), func() { g.Mul(sum, difference, src) })
		for i := range n {
			require.InDelta(t, want[0][i]+want[1][i], float64(sum[i]), 1e-5*size)
			require.InDelta(t, want[0][i]-want[1][i], float64(difference[i]), 1e-5*size)
		}
	})
}

func TestGroupsRefuseWhatDoesNotFit(t *testing.T) {
	g := new(Groups)
	none, one := GroupInputs{}, GroupInputs{In: []int{5}, Weights: make([]float32, 4)}
	require.Panics(t, func() { g.Add([4]int{}, GroupInputs{In: []int{0}, Weights: make([]float32, 3)}, none) })
	require.Panics(t, func() { g.Add([4]int{-1}, one, none) })
	require.Panics(t, func() { g.Add([4]int{math.MaxInt32}, one, none) })
	g = new(Groups)
	g.Add([4]int{0, 8, 16, 24}, one, none)
	a, b := make([]float32, 32), make([]float32, 32)
	g.Mul(a, b, make([]float32, 13))
	require.Panics(t, func() { g.Mul(a[:31], b, make([]float32, 13)) })
	require.Panics(t, func() { g.Mul(a, b[:31], make([]float32, 13)) })
	require.Panics(t, func() { g.Mul(a, b, make([]float32, 12)) })
}
