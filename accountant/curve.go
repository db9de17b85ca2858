package accountant

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// A curve is an upper bound of the Rényi divergence between the outputs on
// neighbouring data, as a function of the order a in (1, +Inf].
type curve func(a float64) float64

// linearCurve is rho-zCDP, a*rho: Gaussian noise and its relatives.
func linearCurve(rho float64) curve {
	return func(a float64) float64 {
		if rho == 0 {
			return 0
		}
		return a * rho
	}
}

// pureCurve is the tight curve of an eps-DP mechanism, attained by randomised
// response: log( (e^{a eps} + e^{eps - a eps}) / (1 + e^eps) ) / (a-1).
// Written as log( 1 + [..] ) with the bracket
// 4 sinh(a eps/2) sinh((a-1) eps/2) e^{eps/2} / (1+e^eps)
// = 2 sinh(a eps/2) sinh((a-1) eps/2) / cosh(eps/2), it keeps its relative
// accuracy for tiny eps and does not overflow for large.
func pureCurve(eps float64) curve {
	return func(a float64) float64 {
		if math.IsInf(a, 1) {
			return eps
		}
		x, y := a*eps/2, (a-1)*eps/2
		if x < 300 {
			bracket := 2 * math.Sinh(x) * math.Sinh(y) / math.Cosh(eps/2)
			return math.Min(eps, math.Log1p(bracket)/(a-1))
		}
		num := mathx.LogAddExp(a*eps, eps-a*eps)
		return math.Min(eps, (num-mathx.LogAddExp(0, eps))/(a-1))
	}
}

// laplaceCurve is Laplace noise at sensitivity/scale = eps (Mironov 2017,
// Proposition 6): log( a/(2a-1) e^{(a-1) eps} + (a-1)/(2a-1) e^{-a eps} )/(a-1).
// The weights sum to one, so 1 is subtracted analytically.
func laplaceCurve(eps float64) curve {
	return func(a float64) float64 {
		if math.IsInf(a, 1) {
			return eps
		}
		y := (a - 1) * eps
		if y > 300 {
			return math.Min(eps, (math.Log(a/(2*a-1))+mathx.LogAddExp(y, math.Log((a-1)/a)-a*eps))/(a-1))
		}
		var s float64
		if a*eps < 0.01 {
			// (a expm1(y) + (a-1) expm1(-a eps)) cancels to second order:
			// a(a-1) eps [ h(y) - h(-a eps) ] with h(t) = (e^t-1-t)/t.
			s = a * (a - 1) * eps * (tail(y) - tail(-a*eps)) / (2*a - 1)
		} else {
			s = (a*math.Expm1(y) + (a-1)*math.Expm1(-a*eps)) / (2*a - 1)
		}
		return math.Min(eps, math.Log1p(s)/(a-1))
	}
}

// tail returns (e^t - 1 - t)/t for |t| < 0.01 by its series.
func tail(t float64) float64 {
	return t / 2 * (1 + t/3*(1+t/4*(1+t/5*(1+t/6*(1+t/7)))))
}

func minCurve(f, g curve) curve {
	return func(a float64) float64 { return math.Min(f(a), g(a)) }
}

func infiniteCurve(float64) float64 { return math.Inf(1) }
