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

// worst keeps the largest D_a(P||Q) at each of the orders over the pairs of laws
// added to it. Since both laws sum to one,
//
//	sum P^a Q^{1-a} - 1 = sum Q (e^{a u} - 1 - a (e^u - 1))
//
// and every term is at least 0, so that nothing cancels where the laws are nearly equal.
type worst struct {
	orders []float64
	sum    []float64 // of one pair
	most   []float64 // the largest sum
	large  []float64 // the largest divergence of the pairs whose sum is huge
}

func newWorst(orders []float64) *worst {
	n := len(orders)
	return &worst{orders, make([]float64, n), make([]float64, n), make([]float64, n)}
}

func (w *worst) add(laws []outcome) {
	clear(w.sum)
	for _, o := range laws {
		mass, grow, half := o.times*o.q, math.Expm1(o.u), math.Exp(o.u/2)
		power, steps := 0.0, resync
		for i, a := range w.orders {
			x := a * o.u
			if math.Abs(x) < 0.1 {
				w.sum[i] += mass * smallExcess(a, o.u)
				steps = resync
				continue
			}
			// e^{a u}, on a grid of halves from the order before.
			if steps < resync && a-w.orders[i-1] == 0.5 {
				power *= half
				steps++
			} else {
				power, steps = math.Exp(x), 0
			}
			w.sum[i] += mass * (power - 1 - a*grow)
		}
	}
	for i, sum := range w.sum {
		if sum < 1e200 {
			w.most[i] = math.Max(w.most[i], sum)
		} else { // or NaN
			w.large[i] = math.Max(w.large[i], renyiLarge(laws, w.orders[i]))
		}
	}
}

// resync is how many powers are products of those before them.
const resync = 32

func (w *worst) divergences() spent {
	d := make(spent, len(w.orders))
	for i, a := range w.orders {
		d[i] = math.Max(w.large[i], math.Log1p(w.most[i])/(a-1))
	}
	return d
}

// renyi returns D_a(P||Q).
func renyi(laws []outcome, a float64) float64 {
	w := newWorst([]float64{a})
	w.add(laws)
	return w.divergences()[0]
}

// smallExcess returns e^{a u} - 1 - a (e^u - 1) for a > 1 and |a u| < 0.1, by its series,
// the sum over k >= 2 of (a^k - a) u^k / k!.
func smallExcess(a, u float64) float64 {
	total, au, uu, factorial := 0.0, a*u, u, 1.0
	for k := 2.0; k <= 9; k++ {
		au, uu, factorial = au*a*u, uu*u, factorial*k
		total += (au - a*uu) / factorial
	}
	return total
}

// renyiLarge returns D_a(P||Q) where the sum may overflow; it is far from zero then.
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
