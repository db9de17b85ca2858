package dense

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		m  Matrix
		ok bool
	}{
		"two rows":                 {Matrix{Rows: 2, Cols: 2, Stride: 2, Data: make([]float32, 4)}, true},
		"no stride behind":         {Matrix{Rows: 2, Cols: 2, Stride: 5, Data: make([]float32, 7)}, true},
		"no rows":                  {Matrix{Cols: 3, Stride: 3}, true},
		"no columns":               {Matrix{Rows: 2, Stride: 1, Data: make([]float32, 2)}, false},
		"rows below 0":             {Matrix{Rows: -1, Cols: 1, Stride: 1}, false},
		"rows that overlap":        {Matrix{Rows: 2, Cols: 2, Stride: 1, Data: make([]float32, 4)}, false},
		"one value short":          {Matrix{Rows: 2, Cols: 2, Stride: 5, Data: make([]float32, 6)}, false},
		"no data":                  {Matrix{Rows: 1, Cols: 1, Stride: 1}, false},
		"a product that overflows": {Matrix{Rows: math.MaxInt, Cols: 2, Stride: math.MaxInt, Data: make([]float32, 4)}, false},
		"one that overflows to 0":  {Matrix{Rows: 1<<32 + 1, Cols: 1, Stride: 1 << 32, Data: make([]float32, 4)}, false},
	} {
		require.Equal(t, c.ok, Check(c.m) == nil, name)
	}
}

func TestNotFinite(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for name, c := range map[string]struct {
		m    Matrix
		want int
	}{
		"no rows":                 {Matrix{Cols: 3, Stride: 3}, -1},
		"NaN between rows":        {Matrix{Rows: 2, Cols: 1, Stride: 2, Data: []float32{0, nan, 0}}, -1},
		"largest numbers":         {Matrix{Rows: 1, Cols: 5, Stride: 5, Data: []float32{math.MaxFloat32, math.MaxFloat32, -math.MaxFloat32, 0, math.MaxFloat32}}, -1},
		"NaN":                     {Matrix{Rows: 2, Cols: 1, Stride: 1, Data: []float32{0, nan}}, 1},
		"infinite":                {Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{0, 0, 0, inf}}, 0},
		"infinite, then its like": {Matrix{Rows: 1, Cols: 8, Stride: 8, Data: []float32{inf, 0, 0, 0, -inf, 0, 0, 0}}, 0},
	} {
		require.Equal(t, c.want, NotFinite(c.m), name)
	}
}

func TestRows(t *testing.T) {
	m := Matrix{Rows: 3, Cols: 2, Stride: 3, Data: []float32{1, 2, 0, 3, 4, 0, 5, 6}}
	require.Equal(t, []float32{3, 4}, Row(m, 1))
	view := Rows(m, 1, 3)
	require.Equal(t, []float32{5, 6}, Row(view, 1))
	require.NoError(t, Check(view))
	require.NoError(t, Check(Rows(m, 3, 3)), "an empty view behind the last row")
	require.Equal(t, Matrix{Rows: 2, Cols: 2, Stride: 2, Data: []float32{5, 6, 1, 2}}, Pick(m, []int{2, 0}))
	require.Equal(t, []float32{5, 25, 61}, SquaredNorms(m))
	require.Equal(t, 1, Argmax([]float32{1, 3, 2, 3}))
	require.Equal(t, Matrix{Rows: 2, Stride: 1, Data: []float32{}}, New(2, 0))
}

func TestProducts(t *testing.T) {
	a := Matrix{Rows: 1, Cols: 2, Stride: 2, Data: []float32{1, 2}}
	b := Matrix{Rows: 2, Cols: 2, Stride: 2, Data: []float32{3, 4, 5, 6}}
	dst := New(1, 2)
	MulAB(dst, a, b)
	require.Equal(t, []float32{13, 16}, dst.Data)
	MulBT(dst, a, b)
	require.Equal(t, []float32{11, 17}, dst.Data)
	square := Matrix{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 1, 1, 1}}
	AddATB(square, a, a)
	require.Equal(t, []float32{2, 3, 3, 5}, square.Data)
}

func TestRBFBlockIsTheKernel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	x, z := New(67, 31), New(150, 31)
	for _, m := range []Matrix{x, z} {
		for i := range m.Data {
			m.Data[i] = float32(rnd.NormFloat64())
		}
	}
	copy(Row(z, 3), Row(x, 5))
	nx, nz := SquaredNorms(x), SquaredNorms(z)
	out := New(x.Rows, z.Rows)
	k := RBF{Gamma: .02}
	k.Block(out, x, nx, z, nz)
	for i := range x.Rows {
		for j := range z.Rows {
			var d2 float64
			for c, v := range Row(x, i) {
				d := float64(v) - float64(Row(z, j)[c])
				d2 += d * d
			}
			require.InDelta(t, math.Exp(-.02*d2), float64(Row(out, i)[j]), 3e-6)
		}
	}
	require.InDelta(t, 1, Row(out, 5)[3], 3e-6)
}
