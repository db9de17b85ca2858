package dense

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// gram returns the Gram matrix of random rows, and a ridge.
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

// TestCholeskySolves: whatever the size, blocks and tiles or parts of them, with rows apart in
// memory, the solution solves; and its bits are those of one processor.
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

// TestCholeskyRefuses what is not positive definite, or not finite.
func TestCholeskyRefuses(t *testing.T) {
	for name, spoil := range map[string]func(a Matrix){
		"negative":     func(a Matrix) { a.Data[150*a.Stride+150] = -1 },
		"indefinite":   func(a Matrix) { a.Data[10*a.Stride+190] = 1e6 },
		"zero":         func(a Matrix) { clear(a.Data) },
		"NaN":          func(a Matrix) { a.Data[100*a.Stride+120] = nan() },
		"infinite":     func(a Matrix) { a.Data[199*a.Stride+199] = 1 / zero() },
		"NaN diagonal": func(a Matrix) { a.Data[70*a.Stride+70] = nan() },
	} {
		t.Run(name, func(t *testing.T) {
			a := gram(200, 400, 1, 1)
			spoil(a)
			_, ok := Factorize(a)
			require.False(t, ok)
		})
	}
}

func zero() float32 { return 0 }
func nan() float32  { return zero() / zero() }

// TestCholeskyOfAGreatSpread: the ridge is 1e-4 of the mean diagonal, the largest eigenvalue
// many times that. What remains of the right side is small beside the terms of the product.
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
