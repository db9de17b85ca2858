package mathx

import "math"

// Log returns the natural logarithm of x >= 0 and is right for subnormal numbers too. On
// amd64 math.Log stops near -709.09 below 2.2e-308, while Log(5e-324) is -744.44. That
// would understate an epsilon at such a delta.
func Log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p60) - 60*math.Ln2
	}
	return math.Log(x)
}
