package mathx

import (
	"math"
)

// LogAddExp returns log(e^a + e^b) without overflow.
func LogAddExp(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) || math.IsInf(a, 1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// Log1mExp returns log(1 - e^-x) for x >= 0, accurately for small and large x (Mächler).
func Log1mExp(x float64) float64 {
	if x <= math.Ln2 {
		return math.Log(-math.Expm1(-x))
	}
	return math.Log1p(-math.Exp(-x))
}

func LogExpm1(x float64) float64 {
	if x > 36 {
		return x + math.Log1p(-math.Exp(-x))
	}
	return math.Log(math.Expm1(x))
}

// LogSumExp returns log(sum of e^x), or -Inf for an empty slice.
func LogSumExp(xs []float64) float64 {
	top := math.Inf(-1)
	for _, x := range xs {
		top = math.Max(top, x)
	}
	if !IsFinite(top) {
		return top
	}
	sum := 0.0
	for _, x := range xs {
		sum += math.Exp(x - top)
	}
	return top + math.Log(sum)
}

// LogMix returns log(1-q+q e^u).
func LogMix(q, u float64) float64 {
	switch {
	case q == 1:
		return u
	case q > 0.5 && u < -1: // near q = 1 a sum that starts at 1 cancels
		return math.Log((1 - q) + q*math.Exp(u))
	case u < 700:
		return math.Log1p(q * math.Expm1(u))
	}
	return u + math.Log(q+(1-q)*math.Exp(-u))
}

// LogUnmix returns the solution u of LogMix(q, u) = x. If x is too small, the result is -Inf.
func LogUnmix(q, x float64) float64 {
	switch {
	case q == 1:
		return x
	case x > 600:
		return x - math.Log(q)
	case q > 0.5 && x < -0.5:
		return math.Log(math.Max(0, math.Exp(x)-(1-q)) / q)
	}
	return math.Log1p(math.Max(-1, math.Expm1(x)/q))
}

// Up returns the next float64 above x. It returns infinities and NaN unchanged.
func Up(x float64) float64 {
	if !IsFinite(x) {
		return x
	}
	return math.Nextafter(x, math.Inf(1))
}

// DivUp returns the least float64 that is at least a/b, for positive numbers.
func DivUp(a, b float64) float64 {
	quotient := a / b
	if math.FMA(quotient, b, -a) < 0 {
		return Up(quotient)
	}
	return quotient
}

// Below returns the largest float32 that is at most x.
func Below(x float64) float32 {
	f := float32(x)
	if float64(f) > x {
		return math.Nextafter32(f, float32(math.Inf(-1)))
	}
	return f
}

// Down returns the next float64 below x. It returns infinities and NaN unchanged.
func Down(x float64) float64 {
	if !IsFinite(x) {
		return x
	}
	return math.Nextafter(x, math.Inf(-1))
}

func SumUp(a, b float64) float64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return Up(a + b)
}

func IsFinite[T float32 | float64](x T) bool { return x-x == 0 }

// For |x| < nearZero, Expm1 and Exp use a series. The first omitted term is below 2^-57 of the result.
const nearZero = 0.06

// Expm1 returns e^x - 1, faster near 0 than math.Expm1. The error is at most two units in the last place.
func Expm1(x float64) float64 {
	if !(x > -nearZero && x < nearZero) {
		return math.Expm1(x)
	}
	return x + beyond(x)
}

// Exp is like math.Exp but faster near 0.
func Exp(x float64) float64 {
	if !(x > -nearZero && x < nearZero) {
		return math.Exp(x)
	}
	return 1 + (x + beyond(x))
}

func beyond(x float64) float64 {
	y := x * x
	return y * ((1./2 + x*(1./6)) + y*((1./24+x*(1./120))+y*((1./720+x*(1./5040))+y*(1./40320+x*(1./362880)))))
}
