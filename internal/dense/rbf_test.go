package dense

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExp32(t *testing.T) {
	worst := 0.0
	for x := float32(0); x > -87; x -= 0.00037 {
		worst = max(worst, math.Abs(float64(exp32(x))/math.Exp(float64(x))-1))
	}
	t.Logf("worst relative error %.3g", worst)
	require.Less(t, worst, 1e-7)
	require.Zero(t, exp32(float32(math.NaN())))
	require.Equal(t, float32(1), exp32(0))
	require.Zero(t, exp32(-87.1))
	require.Zero(t, exp32(float32(math.Inf(-1))))
	require.Zero(t, exp32(-math.MaxFloat32))
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

func BenchmarkExp(b *testing.B) {
	x := make([]float32, 1024)
	for i := range x {
		x[i] = -float32(i) / 100
	}
	y := make([]float32, len(x))
	perExp := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/exp")
	}
	b.Run("exp32", func(b *testing.B) {
		for b.Loop() {
			for i, v := range x {
				y[i] = exp32(v)
			}
		}
		perExp(b)
	})
	b.Run("math", func(b *testing.B) {
		for b.Loop() {
			for i, v := range x {
				y[i] = float32(math.Exp(float64(v)))
			}
		}
		perExp(b)
	})
}
