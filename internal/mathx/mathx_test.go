package mathx

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestLogNormalCDF compares with reference values from 30-digit arithmetic.
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
