package analysis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/pate-go/pate/internal/mathx"
)

// noise is the law of the noise on one count, by the logarithms of its
// distribution function and density, and where to evaluate integrals over it.
type noise interface {
	log(x float64) (cdf, density float64)
	// nodes returns points and weights that integrate, to nearly the last bit of the logarithm, products
	// of densities and distribution functions around whole numbers in [low, high], of k classes.
	nodes(low, high, k int) (x, weight []float64)
}

type gaussianNoise struct{ sigma float64 }

func (g gaussianNoise) log(x float64) (cdf, density float64) {
	z := x / g.sigma
	return mathx.LogNormalCDF(z), mathx.LogNormalPDF(z) - math.Log(g.sigma)
}

// nodes returns the trapezoid rule. The integrand is entire and log-concave with a width w of
// sigma/sqrt(k) at least; with steps of w/2.5 the rule errs by 2 exp(-2 pi^2 2.5^2), and 12 sigma beyond
// where its maximum can lie it has lost a factor e^-72.
func (g gaussianNoise) nodes(low, high, k int) (x, weight []float64) {
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

// nodes returns Gauss-Legendre nodes on panels between whole numbers, where the integrand
// has kinks, short enough for e^{k x/scale} to be a polynomial of low degree.
func (l laplaceNoise) nodes(low, high, k int) (x, weight []float64) {
	ends := []float64{float64(low) - 40/float64(k)*l.scale} // below, all k fall together
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

// laws computes the law of a noisy argmax on a histogram and on its neighbours.
type laws interface {
	// cover announces a histogram that will be visited. Its law may differ in the last bits with the tables,
	// which are for all histograms covered or visited before: when all are covered first, the order of visits
	// does not matter.
	cover(t tally)
	// visit calls f with the law on counts, as logarithms by class, and then on every neighbour, one vote
	// moved; some equal up to the names of classes may be left out. f may change law and must not keep
	// either.
	visit(counts []int, f func(law []float64, counts []int)) error
	// threshold is the law of the test of the largest count.
	threshold(largest int, threshold, sigma float64) (logPass, logFail float64)
}

// instance is the laws of continuous noise, for which classes are alike. It keeps
// what depends on a count alone, for the queries to come.
type instance struct {
	noise     noise
	low, high int // counts that nodes and columns are for
	classes   int
	x, weight []float64
	columns   map[int]column
	total     []float64 // scratch
	terms     []float64 // scratch
}

// column is log F and log f of one count's noise at every node, the weight in the density.
type column struct{ cdf, density []float64 }

// cover implements [laws].
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

// law returns the logarithms of the probability of every class, given the counts.
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

// complement replaces the largest probability of a law, if it is above 1/2, by one minus the others: what
// the others are known to relative accuracy, the logarithm of the largest is then too, however near to zero.
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

// logProbability returns the log of the probability of the class of column c.
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
		if term > top-42 { // e^-42 of the largest, thousands of times, is below the last bit
			sum += math.Exp(term - top)
		}
	}
	return top + math.Log(sum)
}

// neighbours calls f for every histogram one moved vote away from t, those that are equal up to the names
// of classes once. Classes keep their places in counts, which f must not keep.
func neighbours(t tally, f func(counts []int)) {
	counts := slices.Clone(t)
	for a, from := range t {
		if from == 0 || (a > 0 && t[a-1] == from) {
			continue // nothing to move, or as for the class before
		}
		for b, to := range t {
			first := slices.Index(t, to)
			if first == a {
				first++ // the first other class with as many votes, if there is one
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

// divergences are the largest Rényi divergences between the law on the votes of a query and on any neighbour,
// at each order: forward is D_a(M(h)||M(h')), what the published bounds are about, reverse D_a(M(h')||M(h)).
type divergences struct{ forward, reverse spent }

func (d divergences) both() spent {
	both := slices.Clone(d.forward)
	for i, r := range d.reverse {
		both[i] = math.Max(both[i], r)
	}
	return both
}

// visit implements [laws].
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

// compare returns the divergences between the releases on counts and on every neighbour.
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
