package mathx

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"sync"
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

// TestBorrowedTransforms gives the bits of new ones, by however many they are used.
func TestBorrowedTransforms(t *testing.T) {
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for trial := range 60 {
				n := []int{12, 64, 100}[trial%3]
				x := make([]float64, n)
				for j := range x {
					x[j] = math.Sin(float64(j * (trial + 1)))
				}
				want, got := packed(x), packed(x)
				NewFFT(n).Forward(want)
				f := BorrowFFT(n)
				require.Equal(t, n, f.Len())
				f.Forward(got)
				require.Equal(t, want, got)
				NewFFT(n).Inverse(want)
				f.Inverse(got)
				require.Equal(t, want[:n/2], got[:n/2])
				f.Return()
			}
		})
	}
	wait.Wait()
}

// geometric returns 1, r, r^2, ... and the k-th output of its transform, in closed form:
// (1-r^n)/(1 - r w^k), where 1 - r cos t = 1-r + 2r sin(t/2)^2 cancels nothing.
func geometric(n int, r float64) (x []float64, output func(k int) complex128, sum float64) {
	x = make([]float64, n)
	log := math.Log1p(r - 1)
	for j := range x {
		x[j] = math.Exp(float64(j) * log)
	}
	all := -math.Expm1(float64(n) * log)
	return x, func(k int) complex128 {
		s, c := math.Sincos(math.Pi * float64(k) / float64(n)) // of half the angle
		return complex(all, 0) / complex(1-r+2*r*s*s, 2*r*s*c)
	}, all / (1 - r)
}

// TestForwardLowAgainstAClosedForm needs a compensated sum where inputs are many: the
// terms of a geometric sequence themselves are good to a unit and a half.
func TestForwardLowAgainstAClosedForm(t *testing.T) {
	for _, n := range []int{64, 72, 1 << 12, 27 << 9, 1 << 17, 9 << 14} {
		for _, r := range []float64{0.5, 1 - 0x1p-6, 1 - 0x1p-16} {
			x, output, sum := geometric(n, r)
			f := NewFFT(n)
			got := make([]complex128, min(n/2+1, 200))
			at := n / 3 // to there and on from the beginning, in turn
			f.ForwardLow(got, slices.Concat(x[at:], x[:at]), at)
			worst := 0.0
			for k := range got {
				worst = math.Max(worst, cmplx.Abs(got[k]-output(k))/sum)
			}
			require.Less(t, worst, FFTLowError, "n=%d r=%g", n, r)
		}
	}
}

// TestForwardLowIsForward compares any number of outputs of inputs that are mostly 0.
func TestForwardLowIsForward(t *testing.T) {
	for _, n := range []int{8, 48, 540, 1024, 54 << 5} {
		x, sum := make([]float64, n), 0.0
		for j := 0; j < n; j += 1 + j%7 {
			x[j] = math.Cos(float64(j * j))
			sum += math.Abs(x[j])
		}
		f, want := NewFFT(n), packed(x)
		f.Forward(want)
		for _, outputs := range []int{0, 1, 5, n/2 + 1} {
			outputs = min(outputs, n/2+1)
			got := make([]complex128, outputs)
			for k := range got {
				got[k] = cmplx.NaN() // the old number plays no part
			}
			f.ForwardLow(got, x, 0)
			for k := range got {
				require.LessOrEqual(t, cmplx.Abs(got[k]-want[k]), (FFTError(n)+FFTLowError)*sum, "n=%d k=%d", n, k)
			}
		}
	}
}

// TestInverseIsNearInTheMean measures the root of the sum of squares of what Inverse does to
// spectra in closed form.
func TestInverseIsNearInTheMean(t *testing.T) {
	for _, n := range []int{64, 1 << 12, 27 << 9, 25 << 9, 9 << 14, 1 << 17} {
		for _, r := range []float64{0.5, 1 - 0x1p-6, 1 - 0x1p-16} {
			x, output, _ := geometric(n, r)
			c := make([]complex128, n/2+1)
			for k := range c {
				c[k] = output(k)
			}
			NewFFT(n).Inverse(c)
			got := unpacked(c)
			wrong, all := 0.0, 0.0
			for j := range x {
				wrong += (got[j] - x[j]) * (got[j] - x[j])
				all += x[j] * x[j]
			}
			require.Less(t, math.Sqrt(wrong/all), FFTNormError(n), "n=%d r=%g", n, r)
			t.Logf("n=%d r=%g: %.1e of the stated %.1e", n, r, math.Sqrt(wrong/all), FFTNormError(n))
		}
	}
}
