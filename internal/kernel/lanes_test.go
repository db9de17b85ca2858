package kernel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Lanes are summed with the bits of single additions, whatever the numbers are.
func TestLanes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		before := rapid.SliceOfN(hostile[float64](), n, n).Draw(t, "before")
		lane := rapid.SliceOfN(hostile[float64](), n, n).Draw(t, "lane")
		piece := rapid.SliceOfN(hostile[float32](), n, n).Draw(t, "piece")
		folded, added := make([]float64, n), make([]float64, n)
		for i, v := range before {
			folded[i], added[i] = v+float64(piece[i]), v+lane[i]
		}
		for _, on := range []path{portable, machine} {
			dst, src := append([]float64(nil), before...), append([]float32(nil), piece...)
			foldFloats(on, dst, src)
			bitsEqual(t, folded, dst)
			for _, v := range src {
				require.Zero(t, math.Float32bits(v))
			}
			dst = append([]float64(nil), before...)
			addFloats(on, dst, lane)
			bitsEqual(t, added, dst)
		}
	})
	require.Panics(t, func() { FoldFloat64(make([]float64, 1), nil) })
	require.Panics(t, func() { AddFloat64(make([]float64, 1), nil) })
}
