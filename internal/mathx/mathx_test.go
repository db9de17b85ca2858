package mathx

import (
	"fmt"
	"math"
	"math/big"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

func TestLogNormalCDF(t *testing.T) {
	for x, want := range map[float64]float64{
		0:   -math.Ln2,
		-1:  -1.841021645009263772,
		-5:  -15.06499839398872574,
		-10: -53.23128515051247083,
		-40: -804.6084420137538167,
		2:   -0.02301290932896348846,
		9:   -1.128588405953840647e-19,
	} {
		assert.InEpsilon(t, want, LogNormalCDF(x), 2e-14, "x=%v", x)
	}
	for x := 4.0; x < 6; x += 0.01 { // the switch to the continued fraction is smooth
		direct := math.Log(0.5 * math.Erfc(x/math.Sqrt2))
		assert.InEpsilon(t, direct, LogNormalCDF(-x), 1e-13)
		assert.InEpsilon(t, 0.5*math.Erfc(x/math.Sqrt2)*math.Exp(x*x/2+logSqrt2Pi), Mills(x), 1e-13)
	}
}

func TestLogSpace(t *testing.T) {
	inf := math.Inf(1)
	assert.InEpsilon(t, math.Ln2+1000, LogAddExp(1000, 1000), 1e-15)
	assert.Equal(t, -inf, LogAddExp(-inf, -inf))
	assert.Equal(t, 3.0, LogAddExp(-inf, 3))
	assert.InEpsilon(t, math.Log(1e-20), Log1mExp(1e-20), 1e-15)
	assert.InEpsilon(t, -math.Exp(-50), Log1mExp(50), 1e-15)
	assert.InEpsilon(t, 900.0, LogExpm1(900), 1e-15)
	assert.InEpsilon(t, math.Log(1e-9), LogExpm1(1e-9), 1e-9)
	assert.Equal(t, -inf, LogSumExp(nil))
	assert.InEpsilon(t, 700+math.Log(3), LogSumExp([]float64{700, 700, 700}), 1e-15)
}

func TestRounding(t *testing.T) {
	for _, x := range []float64{0, 1, -1, 1e300, 5e-324} {
		assert.Greater(t, Up(x), x)
		assert.Less(t, Down(x), x)
	}
	assert.Equal(t, math.Inf(1), Up(math.Inf(1)))
	assert.Equal(t, math.Inf(-1), Down(math.Inf(-1)))
	assert.True(t, IsFinite(1.0) && !IsFinite(math.NaN()) && !IsFinite(math.Inf(-1)))
}

func TestLogTheta(t *testing.T) {
	for _, sigma := range []float64{0.01, 0.1, 0.39, 0.3989, 0.4, 1, 2.5, 40} {
		sum := 0.0
		for k := math.Ceil(40 * sigma); k > 0; k-- {
			sum += 2 * math.Exp(-k*k/(2*sigma*sigma))
		}
		assert.InDelta(t, math.Log1p(sum), LogTheta(sigma), 4e-15, "sigma %v", sigma)
	}
}

func TestLeast(t *testing.T) {
	for _, want := range []int64{0, 1, 2, 3, 7, 8, 1000, 1 << 50} {
		assert.Equal(t, want, Least(func(n int64) bool { return n >= want }))
	}
}

func packed(x []float64) []complex128 {
	c := make([]complex128, len(x)/2+1)
	for j := range len(x) / 2 {
		c[j] = complex(x[2*j], x[2*j+1])
	}
	c[len(x)/2] = cmplx.NaN() // plays no part
	return c
}

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
		require.InDeltaSlice(t, x, unpacked(got), FFTError(n)*sum, "n=%d", n)
	}
}

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

func TestBorrowedTransforms(t *testing.T) {
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for trial := range 60 {
				n := []int{12, 64, 100}[trial%3]
				x := testkit.Series(n, func(j int) float64 { return math.Sin(float64(j * (trial + 1))) })
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
	log := math.Log1p(r - 1)
	x = testkit.Series(n, func(j int) float64 { return math.Exp(float64(j) * log) })
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
			got := slices.Repeat([]complex128{cmplx.NaN()}, outputs) // the old number plays no part
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
			c := testkit.Series(n/2+1, output)
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

// circle returns the cosine and the sine of 2 pi k/n, k <= n/8, in 300 bits.
func circle(k, n int) (cos, sin *big.Float) {
	const bits = 300
	pi, _, err := big.ParseFloat("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803", 10, bits, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	angle := new(big.Float).SetPrec(bits).Mul(pi, big.NewFloat(float64(2*k)))
	angle.Quo(angle, big.NewFloat(float64(n)))
	term := new(big.Float).SetPrec(bits).SetInt64(1)
	cos, sin = new(big.Float).SetPrec(bits).SetInt64(1), new(big.Float).SetPrec(bits)
	for j := 1; j < 60; j += 2 {
		term.Mul(term, angle).Quo(term, big.NewFloat(float64(j)))
		sin.Add(sin, term)
		term.Mul(term, angle).Quo(term, big.NewFloat(float64(-j-1)))
		cos.Add(cos, term)
	}
	return cos, sin
}

func TestUnitRootsAreRounded(t *testing.T) {
	for _, n := range []int{4, 8, 12, 16, 20, 36, 60, 64, 100, 128, 1000, 1 << 12, 1500, 40960, 41472, 1 << 20} {
		w := unitRoots(n)
		require.Len(t, w, n/2)
		for trial := range 400 {
			k := trial
			if n/8 > 400 {
				k = n / 8 / 400 * trial
			}
			if 8*k > n {
				break
			}
			cos, sin := circle(k, n)
			c, _ := cos.Float64()
			s, _ := sin.Float64()
			name := fmt.Sprintf("n=%d k=%d", n, k)
			off := func(is float64, want *big.Float) float64 {
				d, _ := new(big.Float).Sub(new(big.Float).SetPrec(300).SetFloat64(is), want).Float64()
				return d
			}
			require.Less(t, math.Hypot(off(real(w[k]), cos), off(-imag(w[k]), sin)), 0.75*0x1p-53, name)
			if k > 0 { // and so are their images
				require.InDelta(t, c, -real(w[n/2-k]), 0x1p-54*1.01, name)
				require.InDelta(t, s, -imag(w[n/2-k]), 0x1p-54*1.01, name)
			}
			if q := n/4 - k; q < len(w) {
				require.InDelta(t, s, real(w[q]), 0x1p-54*1.01, name)
				require.InDelta(t, c, -imag(w[q]), 0x1p-54*1.01, name)
			}
		}
	}
}

func TestLogOfSubnormals(t *testing.T) {
	for x, want := range map[float64]float64{
		5e-324: -744.4400719213812, 1e-310: -713.8013788281542, 0x1p-1022: -708.3964185322641, 1e-300: -690.7755278982137, 1: 0,
	} {
		require.InEpsilon(t, want+1e3, Log(x)+1e3, 1e-15, "%v", x)
	}
	require.Equal(t, math.Inf(-1), Log(0))
}

func expm1(x float64) float64 {
	sum, term, at := new(big.Float).SetPrec(200), big.NewFloat(1).SetPrec(200), new(big.Float).SetPrec(200).SetFloat64(x)
	for n := 1; n < 40; n++ {
		term.Mul(term, at).Quo(term, big.NewFloat(float64(n)))
		sum.Add(sum, term)
	}
	f, _ := sum.Float64()
	return f
}

func TestExpNearZero(t *testing.T) {
	for i := -6000; i <= 6000; i++ {
		x := float64(i) * (nearZero / 6000) * (1 - 0x1p-40)
		want := expm1(x)
		require.InDelta(t, want, Expm1(x), 2*0x1p-53*math.Abs(want), "%v", x)
		require.InDelta(t, 1+want, Exp(x), 2*0x1p-53, "%v", x)
	}
}

func TestExpElsewhere(t *testing.T) {
	inf := math.Inf(1)
	for _, x := range []float64{-inf, -700, -1, -nearZero, nearZero, 1, 700, 800, inf} {
		require.Equal(t, math.Expm1(x), Expm1(x))
		require.Equal(t, math.Exp(x), Exp(x))
	}
	require.True(t, math.IsNaN(Exp(math.NaN())))
	require.True(t, math.IsNaN(Expm1(math.NaN())))
	require.Equal(t, 0x1p-1074, Expm1(0x1p-1074))
	require.Equal(t, 1.0, Exp(0))
}
