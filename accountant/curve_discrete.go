package accountant

import "math"

// discreteLaplaceCurve returns the exact divergence between discrete Laplace noise of ratio r = e^-t, t =
// 1/scale, and its shift by the sensitivity s. The divergence is convex in the shift and 0 at 0, so one
// coordinate taking all of an L1 sensitivity is the worst case. The loss is s t on the mass 1/(1+r), -s t
// on the mass r^s/(1+r), and the s-1 points between are a geometric series. With p = a t and m = (a-1) t
// the moment of order a is
//
//	(sinh(p) e^{ms} + sinh(m) e^{-ps}) / (sinh(p) + sinh(m)),
//
// and laplaceCurve where t is small. The weights sum to one, so 1 is subtracted analytically.
func discreteLaplaceCurve(scale float64, sensitivity int64) curve {
	t, s := 1/scale, float64(sensitivity)
	pure := pureCurve(s * t)
	return func(a float64) float64 {
		if math.IsInf(a, 1) || sensitivity == 1 || math.IsInf(s*t, 1) {
			return pure(a)
		}
		p, m := a*t, (a-1)*t
		ratio := math.Exp(-t) // sinh(m)/sinh(p), next
		if q := math.Expm1(-2*m) / math.Expm1(-2*p); q < 1 {
			ratio *= q
		}
		if m*s > 300 {
			log := m*s + math.Log1p(ratio*math.Exp(-(p+m)*s)) - math.Log1p(ratio)
			return math.Min(log/(a-1), pure(a))
		}
		var above float64 // the moment less one
		if p*s < 0.01 {
			// sinh(p) expm1(ms) + sinh(m) expm1(-ps) cancels to second order. With sinhc(x) = sinh(x)/x and
			// tail(x) = (e^x-1-x)/x it is s m p times a sum of positive terms.
			sp, sm := sinhc(p), sinhc(m)
			difference := t * (p + m) / 6 * (1 + (p*p+m*m)/20) // sinhc(p) - sinhc(m)
			above = s * m * (difference + sp*tail(m*s) - sm*tail(-p*s)) / (sp + (a-1)/a*sm)
		} else {
			above = (math.Expm1(m*s) + ratio*math.Expm1(-p*s)) / (1 + ratio)
		}
		return atLeastTiny(math.Min(math.Log1p(above)/(a-1), pure(a)))
	}
}

// sinhc returns sinh(x)/x for |x| < 0.01 by its series.
func sinhc(x float64) float64 { return 1 + x*x/6*(1+x*x/20*(1+x*x/42)) }

// karyCurve returns the curve of k-ary randomised response when the answer is replaced: log( (e^{a eps} +
// e^{(1-a) eps} + k - 2) / (e^eps + k - 1) ) / (a-1). The numerator exceeds the denominator by 4 sinh(a
// eps/2) sinh((a-1) eps/2) e^{eps/2}, as for two categories.
func karyCurve(eps float64, categories int64) curve {
	others := float64(categories) - 1
	pure := pureCurve(eps)
	return func(a float64) float64 {
		x, y := a*eps/2, (a-1)*eps/2
		if math.IsInf(a, 1) || eps == 0 || x >= 300 {
			return pure(a) // the other answers hardly matter
		}
		bracket := 4 * math.Sinh(x) * math.Sinh(y) * math.Exp(eps/2) / (math.Exp(eps) + others)
		return math.Min(pure(a), atLeastTiny(math.Log1p(bracket)/(a-1)))
	}
}
