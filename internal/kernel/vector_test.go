package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMulVecIsTheInnerProduct(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, cols := range []int{0, 1, 3, 15, 16, 17, 100, 785, 2304} {
		w := Aligned[float32](5 * Padded[float32](cols))
		copy(w, normal[float32](rnd, len(w)))
		x := normal[float32](rnd, cols)
		got := make([]float32, 5)
		MulVec(got, w, Padded[float32](cols), x)
		for k := range got {
			want, scale := 0.0, 0.0
			for j := range x {
				p := float64(x[j]) * float64(w[k*Padded[float32](cols)+j])
				want, scale = want+p, scale+math.Abs(p)
			}
			require.InDelta(t, want, float64(got[k]), 1e-5*scale+1e-30, "cols %d", cols)
		}
	}
}

// TestAddOuterBound checks the product against float64 and its documented
// rounding bound, across the edges of tiles.
func TestAddOuterBound(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 1))
	for _, cols := range []int{1, 7, outerTile - 1, outerTile, 2*outerTile + 5} {
		for _, rows := range []int{0, 1, 3, 64} {
			const outputs = 3
			x := make([][]float32, rows)
			for i := range x {
				x[i] = normal[float32](rnd, cols)
			}
			g := normal[float32](rnd, rows*outputs)
			w := make([]float32, outputs*cols)
			AddOuter(w, cols, g, x)
			for k := range outputs {
				for j := range cols {
					exact, size := 0.0, 0.0
					for i := range x {
						p := float64(g[i*outputs+k]) * float64(x[i][j])
						exact, size = exact+p, size+math.Abs(p)
					}
					m := float64(rows) * 0x1p-24
					require.LessOrEqual(t, math.Abs(float64(w[k*cols+j])-exact), m/(1-m)*size)
				}
			}
		}
	}
	require.Panics(t, func() { AddOuter(make([]float64, 6), 3, make([]float64, 3), make([][]float64, 1)) })
}

func TestKernelsDoNotAllocate(t *testing.T) {
	w, x := Aligned[float32](10*64), make([]float32, 64)
	out, rows := make([]float32, 10), [][]float32{x}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		MulVec(out, w, 64, x)
		AddOuter(w, 64, out, rows)
	}))
}
