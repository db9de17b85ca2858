package dense

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
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

func gram(n, rows int, ridge float64, seed uint64) Matrix {
	r := rand.New(rand.NewPCG(seed, 1))
	x := New(rows, n)
	for i := range x.Data {
		x.Data[i] = float32(r.NormFloat64())
	}
	a := New(n, n)
	AddATB(a, x, x)
	for i := range n {
		a.Data[i*n+i] += float32(ridge)
	}
	return a
}

func copied(m Matrix) Matrix {
	m.Data = slices.Clone(m.Data)
	return m
}

func TestCholeskySolves(t *testing.T) {
	for _, n := range []int{1, 2, 63, 64, 65, 200, 321, 700} {
		r := rand.New(rand.NewPCG(uint64(n), 1))
		a := gram(n, 2*n+3, 1, uint64(n))
		want, b := New(n, 3), New(n, 3)
		for i := range want.Data {
			want.Data[i] = float32(r.NormFloat64())
		}
		MulAB(b, a, want)
		run := func() Matrix {
			wide := Matrix{Rows: n, Cols: n, Stride: n + 5, Data: make([]float32, n*(n+5))}
			for i := range n {
				copy(Row(wide, i)[i:], Row(a, i)[i:]) // above the diagonal, as the rest is not read
			}
			c, ok := Factorize(wide)
			require.True(t, ok)
			x := copied(b)
			c.Solve(x)
			return x
		}
		x := run()
		before := runtime.GOMAXPROCS(1)
		alone := run()
		runtime.GOMAXPROCS(before)
		require.Equal(t, x.Data, alone.Data)
		for i, v := range want.Data {
			require.InDelta(t, v, x.Data[i], 1e-3, "%d rows, element %d", n, i)
		}
	}
}

func TestCholeskyRefuses(t *testing.T) {
	nan := float32(math.NaN())
	for name, spoil := range map[string]func(a Matrix){
		"negative":     func(a Matrix) { a.Data[150*a.Stride+150] = -1 },
		"indefinite":   func(a Matrix) { a.Data[10*a.Stride+190] = 1e6 },
		"zero":         func(a Matrix) { clear(a.Data) },
		"NaN":          func(a Matrix) { a.Data[100*a.Stride+120] = nan },
		"infinite":     func(a Matrix) { a.Data[199*a.Stride+199] = float32(math.Inf(1)) },
		"NaN diagonal": func(a Matrix) { a.Data[70*a.Stride+70] = nan },
	} {
		t.Run(name, func(t *testing.T) {
			a := gram(200, 400, 1, 1)
			spoil(a)
			_, ok := Factorize(a)
			require.False(t, ok)
		})
	}
}

func TestCholeskyOfAGreatSpread(t *testing.T) {
	const n = 500
	a := New(n, n)
	for i := range n {
		for j := range n {
			a.Data[i*n+j] = 1 + float32((i*j)%7)*1e-5
			if i == j {
				a.Data[i*n+j] += 1e-4
			}
		}
	}
	for i := range n { // symmetric
		for j := range i {
			a.Data[i*n+j] = a.Data[j*n+i]
		}
	}
	for i := range n {
		a.Data[i*n+i] += 1e-2
	}
	b := New(n, 1)
	for i := range b.Data {
		b.Data[i] = float32(i % 3)
	}
	c, ok := Factorize(copied(a))
	require.True(t, ok)
	x, ax := copied(b), New(n, 1)
	c.Solve(x)
	MulAB(ax, a, x)
	for i, v := range b.Data {
		require.InDelta(t, v, ax.Data[i], 1e-2)
	}
}

func BenchmarkCholesky(b *testing.B) {
	const n = 2000
	a := gram(n, 256, 10, 1)
	for b.Loop() {
		if _, ok := Factorize(copied(a)); !ok {
			b.Fatal("no factor")
		}
	}
	b.ReportMetric(float64(n)*n*n/3/1e9*float64(b.N)/b.Elapsed().Seconds(), "GFLOP/s")
}
