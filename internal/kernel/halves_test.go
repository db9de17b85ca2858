package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 11))
		h := Halves{M: rapid.IntRange(1, 27).Draw(t, "m"), Last: rapid.IntRange(0, 9).Draw(t, "last")}
		strips, gap := rapid.IntRange(1, 3).Draw(t, "strips"), rapid.IntRange(0, 3).Draw(t, "gap")
		k, row := h.Last/2+1, strip+gap
		normal := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(rnd.NormFloat64())
			}
			return x
		}
		h.Even, h.Odd = normal((h.M+1)/2*k), normal(h.M/2*k)
		from, to := Strips{At: gap, Row: row, Step: row * (h.Last + 1)}, Strips{At: gap, Row: row, Step: row * h.M}
		src, dst := normal(gap+strips*from.Step), make([]float32, gap+strips*to.Step)
		for i := range dst {
			dst[i] = float32(math.NaN())
		}
		along(drawn(t), func() { h.MulStrips(dst, to, src, from, strips) })
		require.Equal(t, strip*h.M*strips, written(dst))
		for s := range strips {
			for r := range h.M {
				for j := range strip {
					want, size := 0.0, 0.0
					for i := range k {
						w, sign := h.Even, 1.0
						if r%2 == 1 {
							w, sign = h.Odd, -1
						}
						a, b := float64(from.row(src, i, s)[j]), float64(from.row(src, h.Last-i, s)[j])
						want += float64(w[r/2*k+i]) * (a + sign*b)
						size += math.Abs(float64(w[r/2*k+i])) * (math.Abs(a) + math.Abs(b))
					}
					require.InDelta(t, want, float64(to.row(dst, r, s)[j]), 1e-6*size)
				}
			}
		}
	})
}

func TestHalvesRefuseWhatDoesNotFit(t *testing.T) {
	h := Halves{Even: make([]float32, 2), Odd: make([]float32, 2), M: 2, Last: 2}
	at := Strips{Row: strip, Step: 3 * strip}
	src, dst := make([]float32, 3*strip), make([]float32, 2*strip)
	h.MulStrips(dst, at, src, at, 1)
	h.MulStrips(dst, at, src, at, 0)
	require.Panics(t, func() { h.MulStrips(dst[1:], at, src, at, 1) })
	require.Panics(t, func() { h.MulStrips(dst, at, src[1:], at, 1) })
	require.Panics(t, func() { h.MulStrips(dst, at, src, at, 2) })
	for _, bad := range []Halves{{Even: h.Even, Odd: h.Odd, M: 3, Last: 2}, {Even: h.Even, Odd: h.Odd, M: 2, Last: 4}, {Even: h.Even, M: 2, Last: 2}, {}} {
		require.Panics(t, func() { bad.MulStrips(dst, at, src, at, 1) })
	}
}
