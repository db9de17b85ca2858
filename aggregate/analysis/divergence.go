package analysis

import "math"

// outcome is one or more outputs that have the same probabilities under two laws.
type outcome struct {
	logQ, q float64 // probability under the second law
	u       float64 // log P/Q
	times   float64
}

// outcomes pairs two laws given as logarithms. Outputs in a row that are equally
// likely under both, as classes with equal counts are, become one.
func outcomes(dst []outcome, logP, logQ []float64) []outcome {
	dst = dst[:0]
	for i, q := range logQ {
		p := logP[i]
		if math.IsInf(p, -1) && math.IsInf(q, -1) {
			continue
		}
		if n := len(dst); n > 0 && i > 0 && logP[i-1] == p && logQ[i-1] == q {
			dst[n-1].times++
			continue
		}
		dst = append(dst, outcome{logQ: q, q: math.Exp(q), u: p - q, times: 1})
	}
	return dst
}

// renyi returns D_a(P||Q). Since both laws sum to one,
//
//	sum P^a Q^{1-a} - 1 = sum Q (e^{a u} - 1 - a (e^u - 1))
//
// and every term is at least 0, so that nothing cancels where the laws are nearly
// equal.
func renyi(laws []outcome, a float64) float64 {
	sum := 0.0
	for _, o := range laws {
		if a*o.u > 600 {
			return renyiLarge(laws, a)
		}
		sum += o.times * o.q * excess(a, o.u)
	}
	return math.Log1p(sum) / (a - 1)
}

// excess is e^{a u} - 1 - a (e^u - 1) for a > 1.
func excess(a, u float64) float64 {
	x := a * u
	switch {
	case math.Abs(x) > 1:
		return math.Exp(x) - 1 - a*math.Expm1(u)
	case math.Abs(x) > 0.02:
		return math.Expm1(x) - a*math.Expm1(u)
	}
	// sum over k >= 2 of (a^k - a) u^k / k!
	total, au, uu, factorial := 0.0, x, u, 1.0
	for k := 2.0; k <= 9; k++ {
		au, uu, factorial = au*x, uu*u, factorial*k
		total += (au - a*uu) / factorial
	}
	return total
}

// renyiLarge is renyi where the sum may overflow; it is far from zero then.
func renyiLarge(laws []outcome, a float64) float64 {
	top := math.Inf(-1)
	for _, o := range laws {
		top = math.Max(top, o.logQ+a*o.u)
	}
	if math.IsInf(top, 1) || math.IsNaN(top) {
		return math.Inf(1) // an output that is impossible under Q alone
	}
	sum := 0.0
	for _, o := range laws {
		sum += o.times * math.Exp(o.logQ+a*o.u-top)
	}
	return (top + math.Log(sum)) / (a - 1)
}
