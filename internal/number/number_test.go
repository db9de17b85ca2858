package number

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t testing.TB, text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		require.ErrorIs(t, err, strconv.ErrRange)
	}
	return x
}

// TestOneUlpAboveAPrintedNumber: where rounding up is hardest. The control, the formula in use before,
// prints 92,500 of a million such claims below themselves.
func TestOneUlpAboveAPrintedNumber(t *testing.T) {
	below := 0
	for i := 1; i <= 5_000; i++ {
		x := math.Nextafter(float64(i)/1e4, math.Inf(1))
		if read(t, strconv.FormatFloat(math.Ceil(x*1e4)/1e4, 'f', 4, 64)) < x {
			below++
		}
		for decimals := range 7 {
			if text := DecimalsUp(x, decimals); read(t, text) < x || read(t, text) > x+1.0000001*math.Pow(10, -float64(decimals)) {
				require.Failf(t, "not rounded up", "%v to %d decimals is %s", x, decimals, text)
			}
		}
		for digits := 1; digits <= 15; digits++ {
			if text := DigitsUp(x, digits); read(t, text) < x || read(t, text) > x*(1+math.Pow(10, 1.0000001-float64(digits))) {
				require.Failf(t, "not rounded up", "%v to %d digits is %s", x, digits, text)
			}
		}
	}
	require.Greater(t, below, 100, "the control passes: the test sees nothing")
}

func TestRoundingIsOutwardsAndTight(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 1))
	for range 20_000 {
		x := math.Float64frombits(rnd.Uint64() &^ (1 << 63))
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		digits := 1 + rnd.IntN(15)
		up, down := read(t, DigitsUp(x, digits)), read(t, DigitsDown(x, digits))
		require.True(t, down <= x && x <= up, "%v to %d digits: %v, %v", x, digits, down, up)
		if x > 1e-290 && x < 1e290 {
			require.LessOrEqual(t, up-down, 1.1*x*math.Pow(10, float64(1-digits)), "%v to %d digits: %v, %v", x, digits, down, up)
		}
		y, decimals := x, rnd.IntN(6)
		if x > 1e6 {
			y = rnd.ExpFloat64()
		}
		require.GreaterOrEqual(t, read(t, DecimalsUp(y, decimals)), y)
		require.GreaterOrEqual(t, read(t, DecimalsUp(-y, decimals)), -y)
	}
}

func TestTexts(t *testing.T) {
	for got, want := range map[string]string{
		DecimalsUp(1.99991, 4): "2.0000", DecimalsUp(0.00001, 4): "0.0001", DecimalsUp(9.99999, 4): "10.0000", DecimalsUp(0, 4): "0.0000",
		DecimalsUp(2, 0): "2", DecimalsUp(2.1, 0): "3", DecimalsUp(math.Inf(1), 4): "+Inf", DecimalsUp(math.NaN(), 4): "NaN", DecimalsUp(-0.12, 1): "-0.1",
		DigitsUp(9.99991, 5): "10", DigitsUp(1.000001, 5): "1.0001", DigitsUp(1.23456e-7, 5): "1.2346e-07", DigitsUp(123456, 5): "1.2346e+05",
		DigitsUp(math.MaxFloat64, 5): "+Inf", DigitsUp(math.NaN(), 5): "NaN", DigitsUp(0, 5): "0", DigitsUp(math.SmallestNonzeroFloat64, 5): "4.9407e-324",
		DigitsDown(1.99999, 5): "1.9999", DigitsDown(math.Inf(1), 5): "+Inf", DigitsDown(1, 5): "1",
		TrimZeros("2.0000"): "2", TrimZeros("1.50"): "1.5", TrimZeros("100"): "100", TrimZeros("+Inf"): "+Inf",
		Exact(0.1): "0.1", Digits(2.0/3, 3): "0.667",
	} {
		require.Equal(t, want, got)
	}
	require.Equal(t, 1.00001, Up(1.000001, 6))
}
