package mathx

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// packed returns a sequence as a transform takes it.
func packed(x []float64) []complex128 {
	c := make([]complex128, len(x)/2+1)
	for j := range len(x) / 2 {
		c[j] = complex(x[2*j], x[2*j+1])
	}
	c[len(x)/2] = cmplx.NaN() // plays no part
	return c
}

// unpacked returns the sequence that an inverse transform left.
func unpacked(c []complex128) []float64 {
	var x []float64
	for _, z := range c[:len(c)-1] {
		x = append(x, real(z), imag(z))
	}
	return x
}

func TestFFTAgreesWithTheDefinition(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{4, 8, 12, 16, 20, 24, 32, 36, 40, 48, 60, 64, 72, 80, 100, 108, 120, 128, 180, 300, 324, 360, 500, 512, 540, 600, 720, 900, 1024, 1500} {
		x, sum := make([]float64, n), 0.0
		for j := range x {
			x[j] = rnd.NormFloat64()
			sum += math.Abs(x[j])
		}
		f := NewFFT(n)
		got := packed(x)
		f.Forward(got)
		for k := range got {
			var want complex128
			for j := range x {
				want += complex(x[j], 0) * cmplx.Rect(1, -2*math.Pi*float64((j*k)%n)/float64(n))
			}
			require.LessOrEqual(t, cmplx.Abs(want-got[k]), FFTError(n)*sum, "n=%d k=%d", n, k)
		}
		f.Inverse(got)
		back := unpacked(got)
		for j := range x {
			require.InDelta(t, x[j], back[j], FFTError(n)*sum, "n=%d j=%d", n, j)
		}
	}
}

// TestFFTErrorLong measures the error on long transforms, at some frequencies, against the definition.
func TestFFTErrorLong(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1 << 16, 3 << 14, 15 * 4096, 4 * 5 * 5 * 5 * 5 * 5 * 5, 5 << 13, 27 << 9, 45 << 8, 4 * 59049} {
		x, sum := make([]float64, n), 0.0
		for j := range x {
			x[j] = math.Exp(-math.Abs(float64(j-n/3)) / 500)
			sum += x[j]
		}
		f, got := NewFFT(n), packed(x)
		f.Forward(got)
		worst := 0.0
		for trial := range 60 {
			k := rnd.IntN(n / 2)
			if trial < 30 {
				k = trial
			}
			var want, lost complex128 // compensated sum
			for j := range x {
				s, c := math.Sincos(2 * math.Pi * float64(j*k%n) / float64(n))
				term := complex(x[j]*c, -x[j]*s) - lost
				next := want + term
				lost = (next - want) - term
				want = next
			}
			worst = math.Max(worst, cmplx.Abs(want-got[k])/sum)
		}
		require.Less(t, worst, FFTError(n))
		t.Logf("n=%d: worst error %.1e of the stated %.1e", n, worst, FFTError(n))
	}
}

func TestFFTLength(t *testing.T) {
	require.Equal(t, 4, FFTLength(0))
	require.Equal(t, 12, FFTLength(9))
	require.Equal(t, 1024, FFTLength(1000))
	require.Equal(t, 40960, FFTLength(39748))
	for n := 1; n < 3000; n++ {
		l := FFTLength(n)
		require.GreaterOrEqual(t, l, n)
		require.Zero(t, l%4)
		require.LessOrEqual(t, float64(l), 1.2*float64(n)+4)
		require.Equal(t, l, NewFFT(l).Len())
	}
	for _, n := range []int{-4, 0, 2, 6, 7, 28, 50} {
		require.Panics(t, func() { NewFFT(n) }, "%d", n)
	}
}

func BenchmarkFFT(b *testing.B) {
	for _, n := range []int{4096, 16384, 20000, 40960, 49152, 65536, 300000} {
		f, c := NewFFT(n), make([]complex128, n/2+1)
		c[1] = 1
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			for b.Loop() {
				f.Forward(c)
				f.Inverse(c)
			}
		})
		b.Run(fmt.Sprintf("plan/N=%d", n), func(b *testing.B) {
			for b.Loop() {
				NewFFT(n)
			}
		})
	}
}
