package mathx

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

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
				got[k] = cmplx.NaN() // what was there plays no part
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
