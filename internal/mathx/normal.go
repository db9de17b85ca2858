package mathx

import "math"

const logSqrt2Pi = 0.918938533204672741780329736405617639861

// LogNormalPDF returns the log density of the standard normal law.
func LogNormalPDF(x float64) float64 { return -x*x/2 - logSqrt2Pi }

// LogNormalCDF returns log P[N(0,1) <= x]. The relative error of the probability stays near
// 1e-15 (1 + x^2/2) in both tails.
func LogNormalCDF(x float64) float64 {
	switch {
	case x > 0:
		return math.Log1p(-0.5 * math.Erfc(x/math.Sqrt2))
	case x > -5:
		return math.Log(0.5 * math.Erfc(-x/math.Sqrt2))
	default:
		return math.Log(Mills(-x)) + LogNormalPDF(x)
	}
}

// Mills returns the Mills ratio P[N(0,1) > x] / density(x). It overflows to +Inf below about -38.
func Mills(x float64) float64 {
	if x < 5 {
		return 0.5 * math.Erfc(x/math.Sqrt2) * math.Exp(x*x/2+logSqrt2Pi)
	}
	if x > 1e8 {
		return 1 / x
	}
	// Evaluate Laplace's continued fraction 1/(x+1/(x+2/(x+3/...))) from the back. From
	// x = 5 on, 80 levels reach double precision.
	t := x
	for k := 80; k >= 1; k-- {
		t = x + float64(k)/t
	}
	return 1 / t
}
