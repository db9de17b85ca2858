package analysis

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// ConditionError reports that a condition of the published theorem on the smooth sensitivity of the GNMax
// cost fails for this noise, order and number of classes. None of these depends on the votes, so the error is
// not private.
type ConditionError struct {
	Condition string // what fails, named as in Papernot et al. 2018, appendix B.4
	Sigma     float64
	Order     float64
	Classes   int
}

// Error implements error.
func (e *ConditionError) Error() string {
	return fmt.Sprintf("analysis: no published smooth sensitivity at sigma %g, order %g, %d classes: %s", e.Sigma, e.Order, e.Classes, e.Condition)
}

// The conditions.
const (
	conditionJump     = "the cost jumps at q0, where the data-independent bound takes over"
	conditionMonotone = "C5: the cost does not grow with q"
	conditionGrid     = "the noise is too large for the grid on which the conditions are tested"
	conditionConvex   = "C6: the growth of the cost over one moved vote does not grow with q"
)

// localCost bounds how much one moved vote can change the data-dependent cost of a GNMax query at one
// order (Papernot et al. 2018, appendix B.4). The cost is a function of the flip bound q alone:
//
//	cost(q) = flipBound(q) for q < q0, a/sigma^2 from q0 on
//
// and one moved vote changes q to a value in [lower(q), upper(q)]. Here lower(q) is (K-1) P[N(0,1) > z +
// sqrt(2)/sigma] for the z with (K-1) P[N(0,1) > z] = q.
type localCost struct {
	sigma, order float64
	others       float64 // K - 1
	logQ0        float64 // the cost is a/sigma^2 from here on
	logQ1        float64 // = lower(q0)
	plateau      float64 // the change between q1 and q0

	// unknown is the condition of the published theorem that fails, or "".
	unknown string
	// cells[i] bounds the change if the quantile of q is between z0 + i step and z0 + (i+1) step. It uses the
	// costs at the ends of the cell and one moved vote away from them, and only assumes that the cost grows
	// with q.
	cells    []float64
	z0, step float64
}

// A moved vote crosses perVote cells, which bound the change to about one part in perVote. Noise so large
// that the grid has more than maxCells is refused.
const maxCells = 1 << 20

func perVote(sigma float64) int { return max(4, int(64*math.Min(1, 200/sigma))) }

// newLocalCost finds q0 and tests the theorem's conditions: that the cost grows with q (C5), without which no
// bound is known, and that its growth does (C6). It tests on a grid of quantiles, down to where the cost is
// 1e-13 of its largest value: evidence, not proof, as in the paper, which differentiates numerically.
func newLocalCost(sigma, order float64, classes int) (*localCost, error) {
	l := &localCost{sigma: sigma, order: order, others: float64(classes - 1)}
	lo := -1.0
	for ; !l.below(lo); lo *= 2 {
		if lo < -1e300 {
			return nil, l.refuse(conditionMonotone)
		}
	}
	hi := lo / 2
	for range 100 {
		if mid := lo + (hi-lo)/2; l.below(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	l.logQ0 = lo
	l.logQ1 = l.lower(l.logQ0)
	l.plateau = l.worst() - l.cost(l.logQ1)
	if at, _ := flipBound(lo, sigma, order); at < l.worst()*(1-1e-9) {
		l.unknown = conditionJump
	}

	// As the quantile z rises in steps, q falls.
	vote := perVote(sigma)
	l.z0, l.step = logQuantile(l.logQ0-math.Log(l.others)), math.Sqrt2/sigma/float64(vote)
	costs := []float64{l.worst()}
	for i := 1; costs[i-1] >= 1e-13*l.worst(); i++ {
		if i == maxCells {
			return nil, l.refuse(conditionGrid)
		}
		logQ := l.logTail(l.z0 + l.step*float64(i))
		cost, ok := flipBound(logQ, sigma, order)
		if !ok || cost > costs[i-1]*(1+1e-12) {
			return nil, l.refuse(conditionMonotone)
		}
		costs = append(costs, cost)
	}
	at := func(i int) float64 { // an upper bound beyond the grid on the left, a lower one on the right
		switch {
		case i < 0:
			return l.worst()
		case i >= len(costs):
			return 0
		}
		return costs[i]
	}
	l.cells = make([]float64, len(costs))
	last := math.Inf(1)
	for i := range l.cells {
		growth := at(i) - at(i+vote)
		l.cells[i] = math.Max(at(i-vote)-at(i+1), at(i)-at(i+1+vote))
		if growth > last*(1+1e-9)+1e-13*l.worst() && l.unknown == "" {
			l.unknown = conditionConvex
		}
		last = growth
	}
	return l, nil
}

func (l *localCost) refuse(condition string) error {
	return &ConditionError{condition, l.sigma, l.order, int(l.others) + 1}
}

// published returns an error unless the conditions of the published theorem hold.
func (l *localCost) published() error {
	if l.unknown == "" {
		return nil
	}
	return l.refuse(l.unknown)
}

// below reports whether the flip bound holds at q and is the smaller bound.
func (l *localCost) below(logQ float64) bool {
	bound, ok := flipBound(logQ, l.sigma, l.order)
	return ok && bound < l.worst()
}

func (l *localCost) worst() float64 { return gnmaxWorst(l.sigma, l.order) }

func (l *localCost) cost(logQ float64) float64 {
	if logQ >= l.logQ0 {
		return l.worst()
	}
	bound, _ := flipBound(logQ, l.sigma, l.order)
	return bound
}

func (l *localCost) logTail(z float64) float64 { return math.Log(l.others) + mathx.LogNormalCDF(-z) }

// lower and upper bound q after one moved vote.
func (l *localCost) lower(logQ float64) float64 { return l.shifted(logQ, math.Sqrt2/l.sigma) }
func (l *localCost) upper(logQ float64) float64 { return l.shifted(logQ, -math.Sqrt2/l.sigma) }

func (l *localCost) shifted(logQ, by float64) float64 {
	return math.Min(0, l.logTail(logQuantile(logQ-math.Log(l.others))+by))
}

// change bounds the change of the cost by one moved vote at q. Between q1 and q0 it returns the plateau,
// which under C5 and C6 is an upper bound everywhere.
func (l *localCost) change(logQ float64) float64 {
	if l.logQ1 <= logQ && logQ <= l.logQ0 {
		return l.plateau
	}
	cost := l.cost(logQ)
	return math.Max(l.cost(l.upper(logQ))-cost, cost-l.cost(l.lower(logQ)))
}

// publishedProfile adds to dst[d] weight times a bound of the change by one moved vote at any histogram d
// moved votes away from t, by the published theorem, whose conditions must hold. It follows the histograms
// with the largest changes: below q1 they have the largest q, above q0 the smallest, and in between every
// change is the plateau.
func (l *localCost) publishedProfile(dst []float64, t tally, weight float64) {
	logQ := t.logFlipGaussian(l.sigma)
	votes := slices.Clone(t)
	fall := logQ < l.logQ1
	for d := range dst {
		if d > 0 {
			switch {
			case fall && logQ < l.logQ1:
				votes.disagree()
			case !fall && logQ > l.logQ0 && votes[1] > 0:
				votes.agree()
			default:
				dst[d] += weight * l.plateau
				continue
			}
			logQ = votes.logFlipGaussian(l.sigma)
		}
		dst[d] += weight * l.change(logQ)
	}
}

// cellProfile adds the same bound, a little larger, whether or not those conditions hold: the largest change
// over all q within reach of d votes of the len(dst)-1 teachers. From q0 on the change falls with q; cell -1
// stands for this whole range. Every q within reach of d votes is within reach of d+1 votes from every
// neighbour, which makes the bound smooth.
func (l *localCost) cellProfile(dst []float64, t tally, weight float64) {
	up, down := slices.Clone(t), slices.Clone(t)
	logQ := t.logFlipGaussian(l.sigma)
	first := l.cell(logQ)
	last, worst := first, l.change(logQ)
	if first >= 0 { // a cell more on both sides makes rounding harmless
		worst = max(worst, l.cellBound(first-1), l.cellBound(first), l.cellBound(first+1))
	}
	for d := range dst {
		if d > 0 && first >= 0 {
			to := -1
			if up[0]-up[1] >= 2 {
				up.disagree()
				to = l.cell(up.logFlipGaussian(l.sigma))
			}
			for ; first > to; first-- {
				worst = max(worst, l.cellBound(first-2))
			}
		}
		if d > 0 {
			switch {
			case down[1] > 0:
				down.agree()
			case down[0] < len(dst)-1:
				down[0]++ // perhaps a teacher that abstained
			}
			logQ := down.logFlipGaussian(l.sigma)
			if logQ >= l.logQ0 {
				worst = max(worst, l.change(logQ))
			}
			for to := l.cell(logQ); last < to; last++ {
				worst = max(worst, l.cellBound(last), l.cellBound(last+1), l.cellBound(last+2))
			}
		}
		dst[d] += weight * worst
	}
}

// cell returns the cell of q, or -1 from q0 on.
func (l *localCost) cell(logQ float64) int {
	if logQ >= l.logQ0 {
		return -1
	}
	return max(0, min(int((logQuantile(logQ-math.Log(l.others))-l.z0)/l.step), len(l.cells)-1))
}

// cellBound bounds the change in cell i.
func (l *localCost) cellBound(i int) float64 {
	if i < 0 {
		return l.worst() - l.cost(l.lower(l.logQ0))
	}
	return l.cells[min(i, len(l.cells)-1)]
}

// disagree moves the vote that raises the flip bound most, from the first class to the second, because the
// bound is convex in each distance and steepest in the smallest. The first class must have at least two votes
// more than the second.
func (t tally) disagree() {
	t[0]--
	t[1]++
}

// agree moves the vote that lowers the flip bound most, from the second class to the first, and sorts again.
func (t tally) agree() {
	t[0]++
	t[1]--
	for i := 1; i+1 < len(t) && t[i] < t[i+1]; i++ {
		t[i], t[i+1] = t[i+1], t[i]
	}
}

// thresholdProfile adds to dst[d] the largest change, by one moved vote, of the cost of the threshold test,
// over largest counts up to d away, each within [0, n].
func thresholdProfile(dst []float64, largest, n int, threshold, sigma, a float64) {
	low, high := max(0, largest-len(dst)), min(n, largest+len(dst))
	costs := make([]float64, high-low+1)
	for v := range costs {
		pass, fail := thresholdLaw(float64(low+v), threshold, sigma)
		costs[v] = thresholdRDP(pass, fail, sigma, a)
	}
	step := func(v int) float64 { // between v and v+1
		if v < low || v+1 > high {
			return 0
		}
		return math.Abs(costs[v+1-low] - costs[v-low])
	}
	worst := 0.0
	for d := range dst {
		worst = max(worst, step(largest-d-1), step(largest-d), step(largest+d-1), step(largest+d))
		dst[d] += worst
	}
}

// logQuantile returns the z with log P[N(0,1) > z] = logP < 0, by Newton's method from an asymptotic
// start: the logarithm is concave in z, so that the steps converge from one side.
func logQuantile(logP float64) float64 {
	z := 0.0
	switch {
	case logP > -1e-3: // P[N > z] = 1 - p, p = -expm1(logP)
		return -logQuantile(math.Log(-math.Expm1(logP)))
	case logP < -2:
		z = math.Sqrt(-2*logP - math.Log(-2*logP) - math.Log(2*math.Pi) + 1e-9)
		if math.IsNaN(z) {
			z = math.Sqrt(-2 * logP)
		}
	}
	for range 60 {
		step := (mathx.LogNormalCDF(-z) - logP) * mathx.Mills(z)
		z += step
		if math.Abs(step) <= 2e-16*math.Abs(z) {
			break
		}
	}
	return z
}

// tally is the counts of one query, largest first. Continuous noise and every
// bound here treat classes alike, so histograms with equal tallies cost the same.
type tally []int

func newTally(counts []int) tally {
	t := slices.Clone(counts)
	slices.SortFunc(t, func(a, b int) int { return cmp.Compare(b, a) })
	return t
}

// key returns a text that only equal tallies share.
func (t tally) key() string {
	b := make([]byte, 0, 4*len(t))
	for _, n := range t {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return string(b)
}

// logFlip returns a bound of log P[noisy argmax != argmax]. It sums, over all other classes, the probability
// that a class overtakes the largest count, as a function of its distance, and caps the sum at 1 - 1/K (noise
// that hides the counts entirely).
func (t tally) logFlip(overtakes func(gap float64) float64) float64 {
	terms := make([]float64, len(t)-1)
	for j := range terms {
		terms[j] = overtakes(float64(t[0] - t[j+1]))
	}
	return math.Min(mathx.LogSumExp(terms), math.Log1p(-1/float64(len(t))))
}

// logFlipGaussian returns the bound for Gaussian noise: the difference of two counts has noise of
// standard deviation sqrt(2) sigma (Papernot et al. 2018, Proposition 7).
func (t tally) logFlipGaussian(sigma float64) float64 {
	return t.logFlip(func(gap float64) float64 { return mathx.LogNormalCDF(-gap / (math.Sqrt2 * sigma)) })
}

// logFlipLaplace returns the bound for Laplace noise: at distance g the probability is
// (2 + g/b) e^{-g/b} / 4 (Papernot et al. 2017, Lemma 4).
func (t tally) logFlipLaplace(scale float64) float64 {
	return t.logFlip(func(gap float64) float64 { return math.Log((2+gap/scale)/4) - gap/scale })
}
