package analysis

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// ConditionError says that the smooth sensitivity of the GNMax cost is not known:
// a condition of its theorem fails for this noise, order and number of classes.
// None of these depends on the votes, so the error is not private. Another order
// or sigma may do.
type ConditionError struct {
	Condition string // what fails, named as in Papernot et al. 2018, appendix B.4
	Sigma     float64
	Order     float64
	Classes   int
}

// Error implements error.
func (e *ConditionError) Error() string {
	return fmt.Sprintf("analysis: no smooth sensitivity at sigma %g, order %g, %d classes: %s", e.Sigma, e.Order, e.Classes, e.Condition)
}

// The conditions.
const (
	conditionJump     = "the cost jumps at q0, where the data-independent bound takes over"
	conditionMonotone = "C5: the cost does not grow with q"
	conditionConvex   = "C6: the growth of the cost over one moved vote does not grow with q"
)

// localCost bounds how much one moved vote can change the data-dependent cost of
// a GNMax query at one order (Papernot et al. 2018, appendix B.4). The cost is a
// function of the flip bound q alone:
//
//	cost(q) = flipBound(q) for q < q0, a/sigma^2 from q0 on
//
// and one moved vote takes q to somewhere in [lower(q), upper(q)], lower(q) being
// (K-1) P[N(0,1) > z + sqrt(2)/sigma] where (K-1) P[N(0,1) > z] = q.
type localCost struct {
	sigma, order float64
	others       float64 // K - 1
	logQ0        float64 // the cost is a/sigma^2 from here on
	logQ1        float64 // = lower(q0)
	plateau      float64 // the largest change, anywhere between q1 and q0
}

// newLocalCost finds q0 and checks the theorem's conditions. C5 and C6 are checked
// on a grid of quantiles, down to where the cost is 1e-13 of its largest value:
// evidence, not proof, as in the paper, which differentiates numerically.
func newLocalCost(sigma, order float64, classes int) (*localCost, error) {
	l := &localCost{sigma: sigma, order: order, others: float64(classes - 1)}
	refuse := func(condition string) error { return &ConditionError{condition, sigma, order, classes} }
	lo := -1.0
	for ; !l.below(lo); lo *= 2 {
		if lo < -1e300 {
			return nil, refuse(conditionJump)
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
	if at, _ := flipBound(lo, sigma, order); at < l.worst()*(1-1e-9) {
		return nil, refuse(conditionJump)
	}
	l.logQ1 = l.lower(l.logQ0)
	l.plateau = l.worst() - l.cost(l.logQ1)

	// In steps of the quantile z upwards, q falls.
	z := logQuantile(l.logQ0 - math.Log(l.others))
	width := 1.0
	for l.cost(l.logTail(z+width)) > 1e-13*l.worst() {
		width *= 1.25
	}
	const points = 1500
	lastCost, lastGrowth := l.worst(), l.plateau
	for i := 1; i <= points; i++ {
		logQ := l.logTail(z + width*float64(i)/points)
		cost, ok := flipBound(logQ, sigma, order)
		if !ok || cost > lastCost*(1+1e-12) {
			return nil, refuse(conditionMonotone)
		}
		growth := cost - l.cost(l.lower(logQ))
		if growth > lastGrowth*(1+1e-9)+1e-15*l.worst() {
			return nil, refuse(conditionConvex)
		}
		lastCost, lastGrowth = cost, growth
	}
	return l, nil
}

// below reports whether the flip bound applies at q and is the smaller one.
func (l *localCost) below(logQ float64) bool {
	bound, ok := flipBound(logQ, l.sigma, l.order)
	return ok && bound < l.worst()
}

func (l *localCost) worst() float64 { return l.order / l.sigma / l.sigma }

func (l *localCost) cost(logQ float64) float64 {
	if logQ >= l.logQ0 {
		return l.worst()
	}
	bound, _ := flipBound(logQ, l.sigma, l.order)
	return bound
}

func (l *localCost) logTail(z float64) float64 { return math.Log(l.others) + mathx.LogNormalCDF(-z) }

// lower and upper bound what one moved vote makes of q.
func (l *localCost) lower(logQ float64) float64 { return l.shifted(logQ, math.Sqrt2/l.sigma) }
func (l *localCost) upper(logQ float64) float64 { return l.shifted(logQ, -math.Sqrt2/l.sigma) }

func (l *localCost) shifted(logQ, by float64) float64 {
	return math.Min(0, l.logTail(logQuantile(logQ-math.Log(l.others))+by))
}

// change bounds the change of the cost by one moved vote at q. Between q1 and q0
// it is taken to be the plateau, which C5 and C6 make an upper bound everywhere.
func (l *localCost) change(logQ float64) float64 {
	if l.logQ1 <= logQ && logQ <= l.logQ0 {
		return l.plateau
	}
	cost := l.cost(logQ)
	return math.Max(l.cost(l.upper(logQ))-cost, cost-l.cost(l.lower(logQ)))
}

// profile adds to dst[d] a bound of the change by one moved vote at any histogram
// d moved votes away from t. Below q1 the worst such histogram has votes moved
// from the first class to the second; above q0, from the second to the first,
// which must be re-sorted to stay the second.
func (l *localCost) profile(dst []float64, t tally, weight float64) {
	logQ := t.logFlipGaussian(l.sigma)
	votes := append(tally{}, t...)
	fall := logQ < l.logQ1
	for d := range dst {
		if d > 0 {
			switch {
			case fall && logQ < l.logQ1:
				votes[0]--
				votes[1]++
				logQ = votes.logFlipGaussian(l.sigma)
			case !fall && logQ > l.logQ0 && votes[1] > 0:
				votes[0]++
				votes[1]--
				for i := 1; i+1 < len(votes) && votes[i] < votes[i+1]; i++ {
					votes[i], votes[i+1] = votes[i+1], votes[i]
				}
				logQ = votes.logFlipGaussian(l.sigma)
			default:
				dst[d] += weight * l.plateau
				continue
			}
		}
		dst[d] += weight * l.change(logQ)
	}
}

// thresholdProfile adds to dst[d] the largest change by one moved vote of the cost
// of the threshold test, over largest counts up to d away, each within [0, n].
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

// logQuantile returns the z with log P[N(0,1) > z] = logP < 0, by Newton's method
// from an asymptotic start: the logarithm is concave in z, so that the steps
// converge from one side.
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
