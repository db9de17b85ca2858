package accountant

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// discreteLaplaceCurve is the exact divergence between discrete Laplace noise
// of ratio r = e^{-1/scale} and its shift by the sensitivity s. With
// t = 1/scale the sum splits at 0 and s: mass r^s/(1+r) with loss -s t, mass
// 1/(1+r) with loss s t, and s-1 points between. The divergence is convex in
// the shift with value 0 at 0, so one coordinate taking all of an L1
// sensitivity is the worst case.
func discreteLaplaceCurve(scale float64, sensitivity int64) curve {
	t, s := 1/scale, float64(sensitivity)
	pure := pureCurve(s * t)
	return func(a float64) float64 {
		if math.IsInf(a, 1) || sensitivity == 1 || math.IsInf(s*t, 1) {
			return pure(a)
		}
		// log of (1-r)/(1+r) times the middle sum over x = 1..s-1 of
		// e^{-a x t} e^{-(1-a)(s-x) t} = e^{(a-1) s t} sum e^{-(2a-1) x t},
		// a geometric series; the two ends are e^{(a-1) s t}/(1+r) and
		// e^{-a s t}/(1+r).
		u := (2*a - 1) * t
		ends := mathx.LogAddExp((a-1)*s*t, -a*s*t) - math.Log1p(math.Exp(-t))
		middle := math.Log(math.Tanh(t/2)) + (a-1)*s*t - u + mathx.Log1mExp((s-1)*u) - mathx.Log1mExp(u)
		d := mathx.LogAddExp(ends, middle) / (a - 1)
		return math.Min(math.Max(0, d), pure(a))
	}
}

// karyCurve is k-ary randomised response when the answer is replaced:
// log( (e^{a eps} + e^{(1-a) eps} + k - 2) / (e^eps + k - 1) ) / (a-1). The
// numerator exceeds the denominator by
// 4 sinh(a eps/2) sinh((a-1) eps/2) e^{eps/2}, as for two categories.
func karyCurve(eps float64, categories int64) curve {
	others := float64(categories) - 1
	pure := pureCurve(eps)
	return func(a float64) float64 {
		x, y := a*eps/2, (a-1)*eps/2
		if math.IsInf(a, 1) || x >= 300 {
			return pure(a) // the other answers hardly matter
		}
		bracket := 4 * math.Sinh(x) * math.Sinh(y) * math.Exp(eps/2) / (math.Exp(eps) + others)
		return math.Min(pure(a), math.Log1p(bracket)/(a-1))
	}
}

// aboveThresholdCurve is the better of two valid curves: pure DP at the sum,
// and, for one answer, the Laplace curve of the threshold plus the pure cost
// of the query noise: insert the run on D with a shifted threshold between
// the two laws (also Zhu, Wang 2020).
func aboveThresholdCurve(e AboveThreshold) curve {
	pure := pureCurve(e.Epsilon1 + e.Epsilon2)
	if e.Answers > 1 {
		return pure
	}
	threshold := laplaceCurve(e.Epsilon1)
	return func(a float64) float64 { return math.Min(pure(a), threshold(a)+e.Epsilon2) }
}
