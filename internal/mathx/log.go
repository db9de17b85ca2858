package mathx

import "math"

// Log is the natural logarithm of x >= 0, right for subnormal numbers too:
// math.Log on amd64 stops near -709.09 below 2.2e-308 (Log(5e-324) is -744.44),
// which would understate an epsilon at such a delta.
func Log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p60) - 60*math.Ln2
	}
	return math.Log(x)
}
