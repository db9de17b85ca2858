package kernel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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

// TestGaussian compares every path with exp32, bit for bit, over the whole domain and on hostile numbers;
// TestExp32 compares that with math.Exp.
func TestGaussian(t *testing.T) {
	compare := func(t require.TestingT, products, norms []float32, norm, gamma float32) {
		want := make([]float32, len(products))
		for j, p := range products {
			want[j] = exp32(-gamma * max(0, norm+norms[j]-2*p))
		}
		for range paths[float32]() {
			got, ok := guarded(products)
			Gaussian(got, norm, norms, gamma)
			bitsEqual(t, want, got)
			require.True(t, ok())
		}
	}
	t.Run("domain", func(t *testing.T) {
		var products []float32
		for x := float32(0.5); x > -45; x -= 0.00037 {
			products = append(products, x)
		}
		compare(t, products, make([]float32, len(products)), 0, 1)
		compare(t, products, make([]float32, len(products)), 0, 1e-3)
	})
	t.Run("any", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(0, 40).Draw(t, "n")
			of := func(name string) []float32 { return rapid.SliceOfN(hostile[float32](), n, n).Draw(t, name) }
			compare(t, of("products"), of("norms"), hostile[float32]().Draw(t, "norm"), rapid.Float32Range(0, 100).Draw(t, "gamma"))
		})
	})
	require.Panics(t, func() { Gaussian(make([]float32, 2), 1, make([]float32, 3), 1) })
}

func BenchmarkGaussian(b *testing.B) {
	x, norms, scratch := make([]float32, 1024), make([]float32, 1024), make([]float32, 1024)
	for i := range x {
		x[i] = -float32(i) / 100
	}
	for on := range paths[float32]() {
		b.Run(on.String(), func(b *testing.B) {
			for b.Loop() {
				copy(scratch, x)
				Gaussian(scratch, 1, norms, 1)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/exp")
		})
	}
}
