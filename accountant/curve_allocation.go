package accountant

import (
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// maxAllocationOrder is the largest order whose moments are computed; above, the cost of noise that the
// record takes part in for certain is a valid bound, as the divergence is convex. So it is for noise below
// a quarter, where a sum of many ratios is mostly its largest.
const maxAllocationOrder = 256

// allocationMoments are the log moments E_Q R^a and E_Q R^(1-a) of the likelihood ratio R of one random
// step of many, at whole orders. Both log moments are convex in the order, so a chord bounds the orders
// between.
type allocationMoments struct {
	steps, sigma float64
	forward      []float64 // at orders 0, 1, ..
	reverse      []float64 // NaN where not yet known
	laplace      []node    // see transform
}

func allocationCurve(steps int64, sigma float64) curve {
	plain := gaussianCurve(1 / sigma)
	if steps == 1 {
		return plain
	}
	var m *allocationMoments // the first order that is asked for pays
	return func(a float64) float64 {
		if a > maxAllocationOrder || sigma < 0.25 {
			return plain(a)
		}
		if m == nil {
			m = newAllocationMoments(float64(steps), sigma)
		}
		return math.Min(plain(a), atLeastTiny(chord(a, m.log)/(a-1)))
	}
}

// newAllocationMoments adds ratios up by doubling: with c(j) = E S^j / j! the moments of a sum of
// independent S and T are sum_j c_S(j) c_T(a-j). One ratio has E r^j = e^{j(j-1)/(2 sigma^2)}.
func newAllocationMoments(steps, sigma float64) *allocationMoments {
	m := &allocationMoments{steps: math.Min(steps, pld.MaxAllocated), sigma: sigma}
	block := make([]float64, maxAllocationOrder+1)
	factorial := make([]float64, len(block))
	for j := range block {
		x := float64(j)
		factorial[j], _ = math.Lgamma(x + 1)
		block[j] = x*(x-1)/(2*sigma*sigma) - factorial[j]
	}
	var sum []float64
	levels := 0.0
	for n := uint64(m.steps); ; n >>= 1 {
		if n&1 == 1 && sum == nil {
			sum = block
		} else if n&1 == 1 {
			sum = convolveLogs(sum, block)
		}
		if n == 1 {
			break
		}
		block = convolveLogs(block, block)
		levels += 2
	}
	m.forward, m.reverse = make([]float64, len(sum)), make([]float64, len(sum))
	for j := range sum {
		x := float64(j)
		size := factorial[j] + x*(x-1)/(2*sigma*sigma) + x*math.Log(m.steps)
		m.forward[j] = sum[j] + factorial[j] - x*math.Log(m.steps) + 0x1p-51*(levels+2)*(64+size)
		m.reverse[j] = math.NaN()
	}
	return m
}

// convolveLogs returns the logs of a product of two power series.
func convolveLogs(a, b []float64) []float64 {
	out, terms := make([]float64, len(a)), make([]float64, len(a))
	for k := range out {
		for j := 0; j <= k; j++ {
			terms[j] = a[j] + b[k-j]
		}
		out[k] = mathx.LogSumExp(terms[:k+1])
	}
	return out
}

// log returns the larger log moment at a whole order from 1.
func (m *allocationMoments) log(a int) float64 {
	if a <= 1 {
		return 0
	}
	if math.IsNaN(m.reverse[a]) {
		m.reverse[a] = m.inverse(float64(a - 1))
	}
	return math.Max(m.forward[a], m.reverse[a])
}

// inverse returns log E_Q R^-b, above the truth by what the quadrature may lose, from
//
//	E R^-b = 1/Gamma(b) int e^{bu} f(e^u) du,   f(theta) = E e^{-theta R} = (E e^{-(theta/t) r})^t.
//
// The trapezoid rule is exact to rounding: in u the integrand is no narrower than 1/sqrt(b).
func (m *allocationMoments) inverse(b float64) float64 {
	if b > 25*m.steps*m.sigma { // from ratios left of the nodes
		return b * (b + 1) / (2 * m.sigma * m.sigma)
	}
	m.transform()
	logs := make([]float64, len(m.laplace))
	for i, n := range m.laplace {
		logs[i] = b*n.z + n.l
	}
	gamma, _ := math.Lgamma(b)
	// Left of the nodes f is 1 at most, on the right it is the last value at most, and falls.
	first, last := m.laplace[0], m.laplace[len(m.laplace)-1]
	rest := mathx.LogAddExp(b*first.z-math.Log(b), b*last.z+last.l+math.Ln2)
	log := mathx.LogAddExp(mathx.LogSumExp(logs)+math.Log(laplaceStep), rest) - gamma
	return math.Max(0, log) + 1e-12*(1+math.Abs(gamma))
}

// laplaceStep is the distance of nodes in log theta: two thirds of the narrowest integrand's deviation,
// which is good to e^-40.
const laplaceStep = 0.04

// transform tabulates log f at nodes z = log theta until it is nothing, by the trapezoid rule. A ratio that
// theta does not reach yet counts as 0, one that it is far beyond not at all.
func (m *allocationMoments) transform() {
	if m.laplace != nil {
		return
	}
	step := math.Min(0.2, m.sigma/4)
	var logs, weights, before []float64 // before[i] is the weight of the ratios below i
	sum := 0.0
	for z := -38.0; z <= 10; z += step {
		logs = append(logs, z/m.sigma-0.5/(m.sigma*m.sigma))
		weights, before = append(weights, math.Exp(mathx.LogNormalPDF(z))*step), append(before, sum)
		sum += weights[len(weights)-1]
	}
	first := len(logs) // of the ratios that theta reaches
	for u := -40.0; ; u += laplaceStep {
		logTheta := u - math.Log(m.steps)
		for first > 0 && logs[first-1]+logTheta > -40 {
			first--
		}
		less, left := 0.0, sum // 1 - E e^{-theta r}, and the rest
		if first < len(logs) {
			left = before[first]
		}
		for i := first; i < len(logs); i++ {
			x := math.Exp(logs[i] + logTheta)
			if x > 745 { // of all that follow nothing is left
				less += sum - before[i]
				break
			}
			one := math.Expm1(-x)
			less -= weights[i] * one
			left += weights[i] * (1 + one)
			if x > 1 {
				left += weights[i] * (math.Exp(-x) - (1 + one))
			}
		}
		l := m.steps * math.Log1p(-less)
		if less > 0.5 {
			l = m.steps * math.Log(left)
		}
		m.laplace = append(m.laplace, node{z: u, l: l})
		if u > 0 && (maxAllocationOrder*u+l < -800 || left == 0) {
			return
		}
	}
}
