package mathx

import "math"

// nearZero is up to where Expm1 and Exp are a short sum: the first term that is left out is
// then below 2^-57 of the result.
const nearZero = 0.06

// Expm1 is math.Expm1, faster near 0: good to two units of rounding there, where all but the
// first term of the sum are small.
func Expm1(x float64) float64 {
	if !(x > -nearZero && x < nearZero) {
		return math.Expm1(x)
	}
	return x + beyond(x)
}

// Exp is math.Exp, faster near 0.
func Exp(x float64) float64 {
	if !(x > -nearZero && x < nearZero) {
		return math.Exp(x)
	}
	return 1 + (x + beyond(x))
}

// beyond returns e^x - 1 - x.
func beyond(x float64) float64 {
	y := x * x
	return y * ((1./2 + x*(1./6)) + y*((1./24+x*(1./120))+y*((1./720+x*(1./5040))+y*(1./40320+x*(1./362880)))))
}
