package analysis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/pate-go/pate/internal/mathx"
)

type noise interface {
	log(x float64) (cdf, density float64)
	// nodes returns points and log weights for an integral. The integrand is a density times k-1 distribution
	// functions, with centres in [low, high].
	nodes(low, high, k int) (x, weight []float64)
}

type gaussianNoise struct{ sigma float64 }

func (g gaussianNoise) log(x float64) (cdf, density float64) {
	z := x / g.sigma
	return mathx.LogNormalCDF(z), mathx.LogNormalPDF(z) - math.Log(g.sigma)
}

func (g gaussianNoise) nodes(low, high, k int) (x, weight []float64) {
	// The integrand is entire and log-concave with a width w of at least sigma/sqrt(k). With steps of w/2.5
	// the error is 2 exp(-2 pi^2 2.5^2). The nodes end 12 sigma outside the range of the maximum, where the
	// integrand is e^-72 of its maximum.
	step := g.sigma / (2.5 * math.Sqrt(float64(k)))
	first := float64(low) - 12*g.sigma
	n := int(math.Ceil((float64(high-low)+30*g.sigma)/step)) + 1
	x, weight = make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], weight[i] = first+float64(i)*step, math.Log(step)
	}
	return x, weight
}

type laplaceNoise struct{ scale float64 }

func (l laplaceNoise) log(x float64) (cdf, density float64) {
	t := math.Abs(x) / l.scale
	density = -t - math.Log(2*l.scale)
	if x < 0 {
		return -t - math.Ln2, density
	}
	return math.Log1p(-math.Exp(-t) / 2), density
}

func (l laplaceNoise) nodes(low, high, k int) (x, weight []float64) {
	// Panels end at the integers, because the integrand may have a kink there. Panels are short, so e^{k
	// x/scale} is close to a polynomial of low degree.
	ends := []float64{float64(low) - 40/float64(k)*l.scale} // below, all k factors decrease together
	panel := l.scale * math.Min(1, 6/float64(k))
	grow := func(to float64) {
		from := ends[len(ends)-1]
		for i, n := 1, int(math.Ceil((to-from)/panel)); i <= n; i++ {
			ends = append(ends, from+(to-from)*float64(i)/float64(n))
		}
	}
	for n := low; n <= high; n++ {
		grow(float64(n))
	}
	grow(float64(high) + 45*l.scale)
	for i := 1; i < len(ends); i++ {
		points := 8
		if (ends[i]-ends[i-1])*float64(k) <= l.scale/2 {
			points = 5
		}
		at, w := make([]float64, points), make([]float64, points)
		quad.Legendre{}.FixedLocations(at, w, ends[i-1], ends[i])
		for j := range w {
			w[j] = math.Log(w[j])
		}
		x, weight = append(x, at...), append(weight, w...)
	}
	return x, weight
}

type laws interface {
	// cover prepares tables for a histogram. If all calls of cover precede the first visit, results do not
	// depend on the order of visits.
	cover(t tally)
	// visit calls f with the log probabilities of the classes, for counts and every neighbour with one moved
	// vote. The function f must not store the slices.
	visit(counts []int, f func(law []float64, counts []int)) error
	threshold(largest int, threshold, sigma float64) (logPass, logFail float64)
}

type instance struct {
	noise     noise
	low, high int // range of the counts in columns
	classes   int
	x, weight []float64
	columns   map[int]column
	total     []float64 // scratch
	terms     []float64 // scratch
}

type column struct{ cdf, density []float64 }

func (e *instance) cover(t tally) {
	low, high := t[len(t)-1]-1, t[0]+1
	if len(t) != e.classes {
		e.low, e.high, e.classes, e.columns = low, high, len(t), nil
	}
	if low < e.low || high > e.high {
		e.low, e.high, e.columns = min(low, e.low), max(high, e.high), nil
	}
}

func (e *instance) prepare(t tally) {
	if e.cover(t); e.columns != nil {
		return
	}
	e.x, e.weight = e.noise.nodes(e.low, e.high, e.classes)
	e.columns = map[int]column{}
	e.total, e.terms = make([]float64, len(e.x)), make([]float64, len(e.x))
}

func (e *instance) column(count int) column {
	c, ok := e.columns[count]
	if !ok {
		c = column{make([]float64, len(e.x)), make([]float64, len(e.x))}
		for i, x := range e.x {
			cdf, density := e.noise.log(x - float64(count))
			c.cdf[i], c.density[i] = cdf, density+e.weight[i]
		}
		e.columns[count] = c
	}
	return c
}

func (e *instance) law(dst []float64, counts []int) []float64 {
	clear(e.total)
	for _, n := range counts {
		for i, v := range e.column(n).cdf {
			e.total[i] += v
		}
	}
	dst = slices.Grow(dst[:0], len(counts))
	for k, n := range counts {
		if at := slices.Index(counts[:k], n); at >= 0 {
			dst = append(dst, dst[at])
			continue
		}
		dst = append(dst, e.logProbability(e.column(n)))
	}
	return complement(dst)
}

// complement replaces a probability above 1/2 by one minus the sum of all others, which is more accurate.
func complement(law []float64) []float64 {
	top, others := 0, 0.0
	for i, p := range law {
		if p > law[top] {
			top = i
		}
	}
	if law[top] < -math.Ln2 {
		return law
	}
	for i, p := range law {
		if i != top {
			others += math.Exp(p)
		}
	}
	law[top] = math.Log1p(-others)
	return law
}

func (e *instance) logProbability(c column) float64 {
	top := math.Inf(-1)
	for i, t := range e.total {
		term := t - c.cdf[i] + c.density[i]
		e.terms[i] = term
		if term > top {
			top = term
		}
	}
	sum := 0.0
	for _, term := range e.terms {
		if term > top-42 { // smaller terms are below the last bit, even thousands of them
			sum += math.Exp(term - top)
		}
	}
	return top + math.Log(sum)
}

// neighbours calls f for the histograms that differ from t by one moved vote. Of classes with equal counts,
// only one takes part in each kind of move. The function f must not store counts.
func neighbours(t tally, f func(counts []int)) {
	counts := slices.Clone(t)
	for a, from := range t {
		if from == 0 || (a > 0 && t[a-1] == from) {
			continue // no vote to move, or the same as for the previous class
		}
		for b, to := range t {
			first := slices.Index(t, to)
			if first == a {
				first++ // the first other class with as many votes, if any
			}
			if b != first {
				continue
			}
			counts[a]--
			counts[b]++
			f(counts)
			counts[a]++
			counts[b]--
		}
	}
}

// divergences compares a mechanism's outputs M(h) and M(h') on a histogram h and its neighbours h'. For each
// order a, the field `forward` has the largest Rényi divergence D_a(M(h)||M(h')), and `reverse` the largest
// D_a(M(h')||M(h)).
type divergences struct{ forward, reverse spent }

func (d divergences) both() spent {
	both := slices.Clone(d.forward)
	for i, r := range d.reverse {
		both[i] = math.Max(both[i], r)
	}
	return both
}

func (e *instance) visit(counts []int, f func(law []float64, counts []int)) error {
	t := newTally(counts)
	e.prepare(t)
	law := e.law(nil, t)
	f(law, t)
	neighbours(t, func(counts []int) {
		law = e.law(law, counts)
		f(law, counts)
	})
	return nil
}

func (*instance) threshold(largest int, threshold, sigma float64) (logPass, logFail float64) {
	return thresholdLaw(float64(largest), threshold, sigma)
}

func compare(e laws, counts []int, orders []float64, release func(law []float64, counts []int) []float64) (divergences, error) {
	forward, reverse := newWorst(orders), newWorst(orders)
	var own []float64
	var pairs []outcome
	err := e.visit(counts, func(law []float64, counts []int) {
		law = release(law, counts)
		if own == nil {
			own = slices.Clone(law)
			return
		}
		pairs = outcomes(pairs, own, law)
		forward.add(pairs)
		pairs = outcomes(pairs, law, own)
		reverse.add(pairs)
	})
	return divergences{forward.divergences(), reverse.divergences()}, err
}

type outcome struct {
	logQ, q float64 // probability under the second distribution
	u       float64 // log P/Q
	times   float64
}

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

// Both distributions sum to one, so
//
//	sum P^a Q^{1-a} - 1 = sum Q (e^{a u} - 1 - a (e^u - 1)),   u = log(P/Q)
//
// No term is negative, so nothing cancels if the distributions are nearly equal.

// worst holds, for each order a, the largest D_a(P||Q) of all added pairs (P, Q).
type worst struct {
	orders []float64
	sum    []float64 // of one pair
	most   []float64 // the largest sum
	large  []float64 // largest divergence of pairs with a huge sum
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
			// If orders grow by 1/2, e^{a u} is the previous power times a constant.
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
		} else { // also for NaN
			w.large[i] = math.Max(w.large[i], renyiLarge(laws, w.orders[i]))
		}
	}
}

const resync = 32

func (w *worst) divergences() spent {
	d := make(spent, len(w.orders))
	for i, a := range w.orders {
		d[i] = math.Max(w.large[i], math.Log1p(w.most[i])/(a-1))
	}
	return d
}

// smallExcess returns e^{a u} - 1 - a (e^u - 1) for |a u| < 0.1, as the sum of (a^k - a) u^k / k! over k >=
// 2.
func smallExcess(a, u float64) float64 {
	total, au, uu, factorial := 0.0, a*u, u, 1.0
	for k := 2.0; k <= 9; k++ {
		au, uu, factorial = au*a*u, uu*u, factorial*k
		total += (au - a*uu) / factorial
	}
	return total
}

func renyiLarge(laws []outcome, a float64) float64 {
	top := math.Inf(-1)
	for _, o := range laws {
		top = math.Max(top, o.logQ+a*o.u)
	}
	if math.IsInf(top, 1) || math.IsNaN(top) {
		return math.Inf(1) // an output is impossible under Q alone
	}
	sum := 0.0
	for _, o := range laws {
		sum += o.times * math.Exp(o.logQ+a*o.u-top)
	}
	return (top + math.Log(sum)) / (a - 1)
}
