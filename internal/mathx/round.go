package mathx

import "math"

// Up returns the next float64 above x. It returns infinities and NaN unchanged.
func Up(x float64) float64 {
	if !IsFinite(x) {
		return x
	}
	return math.Nextafter(x, math.Inf(1))
}

// Down returns the next float64 below x. It returns infinities and NaN unchanged.
func Down(x float64) float64 {
	if !IsFinite(x) {
		return x
	}
	return math.Nextafter(x, math.Inf(-1))
}

// IsFinite reports whether x is neither infinite nor NaN.
func IsFinite[T float32 | float64](x T) bool { return x-x == 0 }
