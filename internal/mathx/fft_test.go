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

// TestFFTErrorLong measures the error on long transforms, at some frequencies,
// against the definition.
func TestFFTErrorLong(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1 << 16, 3 << 14, 15 * 4096, 2 * 5 * 5 * 5 * 5 * 5 * 5, 2 * 59049} {
		x, sum := make([]float64, n), 0.0
		for j := range x {
			x[j] = math.Exp(-math.Abs(float64(j-n/3)) / 500)
			sum += x[j]
		}
		f, got := NewFFT(n), make([]complex128, n/2+1)
		f.Forward(got, x)
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

func TestFFTRefusesOtherLengths(t *testing.T) {
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
