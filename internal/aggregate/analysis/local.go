package analysis

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// ConditionError reports that a condition of the published theorem on smooth sensitivity fails. The error
// depends only on the noise, the order and the number of classes. The error of [NewSanitizer] is public. In a
// [Report] it is private, because the order depends on the votes.
type ConditionError struct {
	Condition string // failing condition, as in Papernot et al. 2018, appendix B.4
	Sigma     float64
	Order     float64
	Classes   int
}

func (e *ConditionError) Error() string {
	return fmt.Sprintf("analysis: no published smooth sensitivity at sigma %g, order %g, %d classes: %s", e.Sigma, e.Order, e.Classes, e.Condition)
}

const (
	conditionJump     = "the cost jumps at q0, where the data-independent bound takes over"
	conditionMonotone = "C5: the cost does not grow with q"
	conditionGrid     = "the noise is too large for the grid on which the conditions are tested"
	conditionConvex   = "C6: the growth of the cost over one moved vote does not grow with q"
)

// Let q bound the probability that noise changes the answer. The cost is
//
//	flipBound(q) for q < q0, a/sigma^2 from q0 on
//
// One moved vote changes q to a value in [lower(q), upper(q)]. With K classes, the quantile of q is the z for
// which q = (K-1) P[N(0,1) > z]. Then lower(q) = (K-1) P[N(0,1) > z + sqrt(2)/sigma].

// localCost bounds how much one moved vote changes the data-dependent cost of a GNMax query (Papernot et al.
// 2018, appendix B.4).
type localCost struct {
	sigma, order float64
	others       float64 // K - 1
	logQ0        float64 // log q0
	logQ1        float64 // log lower(q0)
	plateau      float64 // change of the cost between q1 and q0

	unknown string

	// cells[i] bounds the change of the cost by one moved vote, for z in [z0 + i step, z0 + (i+1) step]. Here
	// z solves q = others P[N(0,1) > z]. If the cost grows with q, costs at the ends of cells determine
	// cells[i].
	cells    []float64
	z0, step float64
}

const maxCells = 1 << 20

func perVote(sigma float64) int { return max(4, int(64*math.Min(1, 200/sigma))) }

func newLocalCost(sigma, order float64, classes int) (*localCost, error) {
	// (C5): the cost grows with q. Every bound requires C5. (C6): the growth of the cost over one moved vote
	// grows with q. Only the published theorem requires C6. The grid ends where the cost is 1e-13 of the
	// largest cost. The test is evidence, not proof.
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

	// q decreases as the quantile z increases.
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
	at := func(i int) float64 { // upper bound left of the grid, lower bound right of it
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

func (l *localCost) published() error {
	if l.unknown == "" {
		return nil
	}
	return l.refuse(l.unknown)
}

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

func (l *localCost) lower(logQ float64) float64 { return l.shifted(logQ, math.Sqrt2/l.sigma) }
func (l *localCost) upper(logQ float64) float64 { return l.shifted(logQ, -math.Sqrt2/l.sigma) }

func (l *localCost) shifted(logQ, by float64) float64 {
	return math.Min(0, l.logTail(logQuantile(logQ-math.Log(l.others))+by))
}

// change bounds the effect of one moved vote on a query's cost. Noise changes the query's answer with
// probability at most e^logQ.
func (l *localCost) change(logQ float64) float64 {
	// Between q1 and q0 the bound is a constant, the plateau. Under C5 and C6 the plateau is an upper bound
	// for every q.
	if l.logQ1 <= logQ && logQ <= l.logQ0 {
		return l.plateau
	}
	cost := l.cost(logQ)
	return math.Max(l.cost(l.upper(logQ))-cost, cost-l.cost(l.lower(logQ)))
}

// publishedProfile adds weight*b(d) to every dst[d]. Move at most d votes of t, and then one more vote. The
// last move changes the cost by at most b(d).
func (l *localCost) publishedProfile(dst []float64, t tally, weight float64) {
	// The conditions of the published theorem must hold. For q below q1 the change is largest at the largest
	// q within d moved votes. For q above q0 it is largest at the smallest q. Between q1 and q0 the change is
	// bounded by the plateau.
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

// cellProfile replaces publishedProfile under weaker conditions on the cost. Its bound is slightly larger.
func (l *localCost) cellProfile(dst []float64, t tally, weight float64) {
	// The bound is the largest change over all q within d moved votes, for len(dst)-1 teachers. For q >= q0
	// the change falls with q, and the cell has index -1. All q within d votes of t are within d+1 votes of
	// each neighbour of t, so b is smooth.
	up, down := slices.Clone(t), slices.Clone(t)
	logQ := t.logFlipGaussian(l.sigma)
	first := l.cell(logQ)
	last, worst := first, l.change(logQ)
	if first >= 0 { // one more cell on both sides covers rounding errors
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
				down[0]++ // possibly a teacher that abstained
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

func (l *localCost) cell(logQ float64) int {
	if logQ >= l.logQ0 {
		return -1
	}
	return max(0, min(int((logQuantile(logQ-math.Log(l.others))-l.z0)/l.step), len(l.cells)-1))
}

func (l *localCost) cellBound(i int) float64 {
	if i < 0 {
		return l.worst() - l.cost(l.lower(l.logQ0))
	}
	return l.cells[min(i, len(l.cells)-1)]
}

// disagree requires that the first class leads by at least two votes.
func (t tally) disagree() {
	// This move raises q most, because q is convex in each distance and steepest in the smallest distance.
	t[0]--
	t[1]++
}

func (t tally) agree() {
	t[0]++
	t[1]--
	for i := 1; i+1 < len(t) && t[i] < t[i+1]; i++ {
		t[i], t[i+1] = t[i+1], t[i]
	}
}

// thresholdProfile adds b(d) to every dst[d]. Start with any largest count in [0, n] that differs from
// `largest` by at most d. Adding or removing one vote then changes the cost of the threshold test by at most
// b(d).
func thresholdProfile(dst []float64, largest, n int, threshold, sigma, a float64) {
	low, high := max(0, largest-len(dst)), min(n, largest+len(dst))
	costs := make([]float64, high-low+1)
	for v := range costs {
		pass, fail := thresholdLaw(float64(low+v), threshold, sigma)
		costs[v] = thresholdRDP(pass, fail, sigma, a)
	}
	step := func(v int) float64 { // change between v and v+1
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

// logQuantile returns the z with log P[N(0,1) > z] = logP < 0. Newton's steps converge from one side, because
// the logarithm is concave in z.
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

// tally holds the counts of one query, largest first.
type tally []int

func newTally(counts []int) tally {
	t := slices.Clone(counts)
	slices.SortFunc(t, func(a, b int) int { return cmp.Compare(b, a) })
	return t
}

func (t tally) key() string {
	b := make([]byte, 0, 4*len(t))
	for _, n := range t {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return string(b)
}

// logFlip returns an upper bound on log P[noisy argmax != argmax] for K classes. The bound is log min(1 -
// 1/K, sum of e^overtakes(gap)). The sum is over all classes but the first, and gap is the lead of the first
// class in votes.
func (t tally) logFlip(overtakes func(gap float64) float64) float64 {
	terms := make([]float64, len(t)-1)
	for j := range terms {
		terms[j] = overtakes(float64(t[0] - t[j+1]))
	}
	return math.Min(mathx.LogSumExp(terms), math.Log1p(-1/float64(len(t))))
}

// logFlipGaussian is logFlip for Gaussian noise (Papernot et al. 2018, Proposition 7).
func (t tally) logFlipGaussian(sigma float64) float64 {
	return t.logFlip(func(gap float64) float64 { return mathx.LogNormalCDF(-gap / (math.Sqrt2 * sigma)) })
}

// logFlipLaplace is logFlip for Laplace noise. A class overtakes a lead of g votes with probability
// (2 + g/scale) e^{-g/scale} / 4 (Papernot et al. 2017, Lemma 4).
func (t tally) logFlipLaplace(scale float64) float64 {
	return t.logFlip(func(gap float64) float64 { return math.Log((2+gap/scale)/4) - gap/scale })
}
