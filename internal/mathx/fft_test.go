package mathx

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFFTAgreesWithTheDefinition(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 4, 6, 8, 10, 12, 16, 18, 20, 24, 30, 36, 50, 54, 60, 64, 90, 100, 120, 128, 150, 250, 270, 360, 512, 600, 1024} {
		x, sum := make([]float64, n), 0.0
		for j := range x {
			x[j] = rnd.NormFloat64()
			sum += math.Abs(x[j])
		}
		f := NewFFT(n)
		got, back := make([]complex128, n/2+1), make([]float64, n)
		f.Forward(got, x)
		for k := range got {
			var want complex128
			for j := range x {
				want += complex(x[j], 0) * cmplx.Rect(1, -2*math.Pi*float64((j*k)%n)/float64(n))
			}
			require.LessOrEqual(t, cmplx.Abs(want-got[k]), FFTError(n)*sum, "n=%d k=%d", n, k)
		}
		f.Inverse(back, got)
		for j := range x {
			require.InDelta(t, x[j], back[j], FFTError(n)*sum, "n=%d j=%d", n, j)
		}
	}
}

// TestFFTError measures the error on a long transform whose answer is known:
// the pmf of a geometric law.
func TestFFTErrorLong(t *testing.T) {
	for _, n := range []int{1 << 16, 3 * 5 * 4096, 50000} {
		x, sum, r := make([]float64, n), 0.0, 0.999
		for j := range x {
			x[j] = math.Pow(r, float64(j))
			sum += x[j]
		}
		f, got := NewFFT(n), make([]complex128, n/2+1)
		f.Forward(got, x)
		worst := 0.0
		for k := range got {
			s, half := math.Sin(2*math.Pi*float64(k)/float64(n)), math.Sin(math.Pi*float64(k)/float64(n))
			want := complex(-math.Expm1(float64(n)*math.Log(r)), 0) / complex(1-r+2*r*half*half, r*s)
			worst = math.Max(worst, cmplx.Abs(want-got[k])/sum)
		}
		require.Less(t, worst, FFTError(n))
		t.Logf("n=%d: worst error %.1e of the stated %.1e", n, worst, FFTError(n))
	}
}

func TestFFTLength(t *testing.T) {
	require.Equal(t, 2, FFTLength(0))
	require.Equal(t, 10, FFTLength(9))
	require.Equal(t, 1000, FFTLength(1000))
	for n := 1; n < 3000; n++ {
		l := FFTLength(n)
		require.GreaterOrEqual(t, l, n)
		require.Zero(t, l%2)
		require.LessOrEqual(t, float64(l), 1.34*float64(n)+2)
		for _, p := range []int{2, 3, 5} {
			for l%p == 0 {
				l /= p
			}
		}
		require.Equal(t, 1, l)
	}
	require.Panics(t, func() { NewFFT(7) })
	require.Panics(t, func() { NewFFT(14) })
}

func BenchmarkFFT(b *testing.B) {
	for _, n := range []int{4096, 16384, 20000, 49152, 65536, 300000} {
		f, x, c := NewFFT(n), make([]float64, n), make([]complex128, n/2+1)
		x[1] = 1
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			for b.Loop() {
				f.Forward(c, x)
			}
		})
		b.Run(fmt.Sprintf("plan/N=%d", n), func(b *testing.B) {
			for b.Loop() {
				NewFFT(n)
			}
		})
	}
}
