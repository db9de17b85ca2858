package accountant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// Interval holds the bounds of a value. [Risk] documents the guarantees.
type Interval struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// Risk bounds the success of an attacker who must decide between two neighbouring data sets. Let P and Q be
// the output distributions on the two data sets. Let d(epsilon) be the least delta with P(S) <= e^epsilon
// Q(S) + delta for all sets S. Exchange P and Q to get r(epsilon). If a test for P has false positive rate
// fpr, its true positive rate is at most
//
//	min over epsilon >= 0 of  e^epsilon fpr + d(epsilon)  and  1 - e^-epsilon (1 - fpr - r(epsilon)).
//
// The trade-off curve is the convex conjugate of d and r (Dong, Roth, Su 2022, Proposition 2.12). Every
// epsilon gives an upper bound, so the search for the minimum need not be exact.
//
// In the results, Upper is valid for every mechanism that the events describe. Some attack on the dominating
// pairs attains Lower, so Upper - Lower is the numerical error. The dominating pairs of some mechanisms, such
// as noisy argmax, are not tight. The best attack on such a mechanism can succeed less often than Lower. With
// ByRDP, Lower is 0 or the success of random guessing.
type Risk struct {
	// By is the method of the bounds: ByPLD or ByRDP.
	By   Method
	d    [2]deltaCurve // of (P, Q) and of (Q, P), at epsilon >= 0
	mu   float64       // of the Gaussian release that is equivalent to the run; 0 if there is none
	only float64       // failure probability, rounded up
}

// deltaCurve bounds delta at epsilon >= 0. Lower and Upper do not increase with epsilon.
type deltaCurve func(epsilon float64) Interval

// Risk bounds the success of an attacker on all composed events.
func (t *Auto) Risk(ctx context.Context) (*Risk, error) {
	if t.pld != nil {
		r, err := t.pld.Risk(ctx)
		if err == nil || t.cfg.Method == ByPLD || !errors.Is(err, pld.ErrTooMuchWork) {
			return r, err
		}
	}
	return t.rdp.risk(ctx)
}

const rdpRiskPoints = 200

// risk bounds delta at a grid of epsilons. Delta never grows with epsilon, so between two grid points the
// delta at the smaller epsilon is a bound.
func (r *RDP) risk(ctx context.Context) (*Risk, error) {
	upper, total := make([]float64, rdpRiskPoints), r.terms.total()
	at := func(i int) float64 { return 16 * math.Pow(float64(i)/rdpRiskPoints, 2) }
	for i := range upper {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if upper[i] = r.delta(total, at(i)).Upper; i > 0 {
			upper[i] = math.Min(upper[i], upper[i-1])
		}
	}
	curve := func(epsilon float64) Interval {
		i := int(math.Sqrt(epsilon/16)*rdpRiskPoints) + 1
		for i = min(i, len(upper)-1); i > 0 && at(i) > epsilon; i-- {
		}
		return Interval{0, upper[i]}
	}
	return &Risk{By: ByRDP, d: [2]deltaCurve{curve, curve}, only: r.failure()}, nil
}

func (p *PLD) Risk(ctx context.Context) (*Risk, error) {
	failure, sure := p.terms.failure(), p.certainFailure()
	s, _ := p.sums()
	r := &Risk{By: ByPLD, only: failure}
	if failure == 0 {
		r.mu = s.Gaussian()
	}
	for i, reverse := range []bool{false, true} {
		if reverse && !s.Asymmetric() {
			r.d[1] = r.d[0]
			break
		}
		body, err := p.composer.Curve(ctx, s, reverse)
		if err != nil {
			return nil, err
		}
		r.d[i] = func(epsilon float64) Interval {
			v := body(epsilon)
			d := Interval{sure + (1-sure)*v.Lower, v.Upper}
			if failure > 0 {
				d.Upper = math.Min(1, d.Upper+failure*(1+0x1p-50))
			}
			return d
		}
	}
	return r, nil
}

// TPR bounds the largest true positive rate of a membership test with false positive rate fpr in [0, 1]. TPR
// also bounds reconstruction and attribute inference. There fpr is the base rate: the probability of a right
// guess without the release. TPR bounds the probability with the release (Kulynych et al. 2025).
func (r *Risk) TPR(fpr float64) (Interval, error) {
	if !(fpr >= 0 && fpr <= 1) {
		return Interval{}, fmt.Errorf("accountant: a false positive rate must be in [0, 1], got %v", fpr)
	}
	if fpr == 1 {
		return Interval{1, 1}, nil
	}
	one, other := r.tpr(fpr, 0), r.tpr(fpr, 1)
	return Interval{math.Max(one.Lower, other.Lower), math.Max(one.Upper, other.Upper)}, nil
}

// Tradeoff bounds the least false negative rate of a membership test with false positive rate fpr.
func (r *Risk) Tradeoff(fpr float64) (Interval, error) {
	v, err := r.TPR(fpr)
	if err != nil {
		return v, err
	}
	return Interval{1 - v.Upper, 1 - v.Lower}, nil
}

const riskEdge = 50

// tpr bounds the largest true positive rate at the false positive rate fpr. The order of the two output
// distributions is (P, Q) if `order` is 0, and (Q, P) if it is 1.
func (r *Risk) tpr(fpr float64, order int) Interval {
	// The bound is the minimum over g = e^epsilon > 0 of the convex function g fpr + H_g(P, Q). For g < 1
	// this function is 1 - g (1 - fpr - H_{1/g}(Q, P)).
	d, back := r.d[order], r.d[1-order]
	at := func(epsilon float64) riskPoint {
		g := math.Exp(epsilon)
		if epsilon >= 0 {
			v := d(epsilon)
			return riskPoint{epsilon, g, Interval{g*fpr + v.Lower, g*fpr + v.Upper}}
		}
		v := back(-epsilon)
		return riskPoint{epsilon, g, Interval{1 - g*(1-fpr-v.Lower), 1 - g*(1-fpr-v.Upper)}}
	}
	const rounding = 1e-14
	best := lowest(at)
	v := Interval{Upper: math.Min(1, best.Upper+rounding)}
	v.Lower = convexBound(at, best, fpr) - rounding
	v.Lower = math.Max(fpr, math.Min(v.Lower, v.Upper)) // random accusations reach fpr
	v.Upper = math.Max(v.Upper, v.Lower)
	return v
}

type riskPoint struct {
	epsilon, g float64
	Interval
}

// lowest minimises at(epsilon).Upper, which must have only one local minimum.
func lowest(at func(epsilon float64) riskPoint) riskPoint {
	const parts = 400
	best := at(0)
	for i := range parts + 1 {
		x := float64(2*i-parts) / parts // finer about 0
		if v := at(riskEdge * x * math.Abs(x)); v.Upper < best.Upper {
			best = v
		}
	}
	step := math.Max(0.01, 0.02*math.Sqrt(riskEdge*math.Abs(best.epsilon)))
	lo, hi := best.epsilon-step, best.epsilon+step
	for range 50 {
		a, b := at(lo+(hi-lo)/3), at(hi-(hi-lo)/3)
		if a.Upper < b.Upper {
			hi = b.epsilon
		} else {
			lo = a.epsilon
		}
		for _, v := range []riskPoint{a, b} {
			if v.Upper < best.Upper {
				best = v
			}
		}
	}
	return best
}

// convexBound returns a lower bound on the minimum of the function `at`, which must be convex in e^epsilon.
// The point best must be near the minimum.
func convexBound(at func(epsilon float64) riskPoint, best riskPoint, fpr float64) float64 {
	// It finds a point on each side of best with a value of at least best.Upper. Beyond these points the
	// function is at least best.Upper, by convexity. Between two adjacent points, the function lies above two
	// lines. Each line runs through one of the points and the next point outside.

	const close, most = 3e-7, 2000
	bound := best.Upper
	points := []riskPoint{best}
	for _, sign := range []float64{-1, 1} {
		for step, past := 1e-4, 0; past < 2; step *= 2 {
			v := at(best.epsilon + sign*step)
			points = append(points, v)
			if v.Lower >= best.Upper {
				past++
			}
			if math.Abs(v.epsilon) > riskEdge { // the remaining delta is almost 1, or negligible
				if sign < 0 {
					bound = math.Min(bound, 1-1e-20)
				} else {
					bound = math.Min(bound, v.g*fpr)
				}
				break
			}
		}
	}
	for {
		slices.SortFunc(points, func(a, b riskPoint) int { return cmp.Compare(a.epsilon, b.epsilon) })
		least, more := bound, []riskPoint(nil)
		for i := range len(points) - 1 {
			v := chordBound(points, i)
			if least = math.Min(least, v); v < bound-close && points[i+1].g > points[i].g*(1+1e-9) {
				more = append(more, at((points[i].epsilon+points[i+1].epsilon)/2))
			}
		}
		if len(more) == 0 || len(points)+len(more) > most {
			return least
		}
		points = append(points, more...)
	}
}

func chordBound(p []riskPoint, i int) float64 {
	a, b := p[i], p[i+1]
	// The left line runs through (previous, upper) and (a, lower). The right line runs through (next, upper)
	// and (b, lower). At the ends of the range only one line exists.
	left, right := math.Inf(-1), math.Inf(1) // slopes
	if i > 0 && a.g > p[i-1].g {
		left = (a.Lower - p[i-1].Upper) / (a.g - p[i-1].g)
	}
	if i+2 < len(p) && p[i+2].g > b.g {
		right = (p[i+2].Upper - b.Lower) / (p[i+2].g - b.g)
	}
	switch {
	case left >= 0:
		return a.Lower
	case right <= 0:
		return b.Lower
	case math.IsInf(left, -1):
		return b.Lower - right*(b.g-a.g)
	case math.IsInf(right, 1):
		return a.Lower + left*(b.g-a.g)
	}
	// a.Lower + left (g - a.g) falls and b.Lower - right (b.g - g) rises. The two lines meet between a and b,
	// or one line is above the other throughout.
	g := (b.Lower - right*b.g - a.Lower + left*a.g) / (left - right)
	g = math.Min(math.Max(g, a.g), b.g)
	return math.Max(a.Lower+left*(g-a.g), b.Lower-right*(b.g-g))
}

// Advantage bounds the largest difference between the true and the false positive rate. The difference is
// delta at epsilon 0, the total variation distance of the two output distributions.
func (r *Risk) Advantage() Interval { return r.worst(0) }

func (r *Risk) worst(epsilon float64) Interval {
	a, b := r.d[0](epsilon), r.d[1](epsilon)
	return Interval{math.Max(a.Lower, b.Lower), math.Max(a.Upper, b.Upper)}
}

// Right bounds the probability that an attacker guesses correctly whether a record is in the data. Before the
// release, the attacker's probability that the record is in the data is prior, in (0, 1). At prior 1/2 the
// bound is (1 + Advantage)/2.
func (r *Risk) Right(prior float64) (Interval, error) {
	if !(prior > 0 && prior < 1) {
		return Interval{}, fmt.Errorf("accountant: a prior must be in (0, 1), got %v", prior)
	}
	// With g = (1-prior)/prior the best guess is right with probability 1-prior + prior H_g(P, Q). For g < 1,
	// H_g(P, Q) = 1 - g + g H_{1/g}(Q, P).
	likelier, rarer := math.Max(prior, 1-prior), math.Min(prior, 1-prior)
	d := r.worst(math.Log(likelier / rarer))
	const rounding = 1e-15
	return Interval{likelier + rarer*d.Lower - rounding, math.Min(1, likelier+rarer*d.Upper+rounding)}, nil
}

// GDP is a bound by Gaussian differential privacy. Let g(epsilon) be the delta of a Gaussian mechanism with
// sensitivity/sigma = Mu. Then the delta of the run is at most Delta + g(epsilon) at every epsilon >= 0.
type GDP struct {
	Mu    float64 `json:"upper"`
	Delta float64 `json:"delta"`
	// Regret is an upper bound on the difference of two true positive rates. Mu and Delta allow the first
	// rate, and the dominating pairs the second. The bound is for 12 false positive rates from 1e-4 to 0.9.
	// Regret is 0 if the run is exactly Gaussian (Gómez et al. 2025).
	Regret float64 `json:"regret"`
}

const gdpTail = 1e-9

// GDP returns a certified bound. If no finite Mu is certified, Mu is +Inf.
func (r *Risk) GDP() GDP {
	if r.mu > 0 {
		return GDP{Mu: r.mu * (1 + 1e-12)}
	}
	out := GDP{Delta: gdpTail + r.only}
	const step = 1.0 / 512
	var upper []float64 // at i*step
	for e := 0.0; ; e += step {
		d := r.worst(e).Upper
		upper = append(upper, d)
		if d <= out.Delta {
			break
		}
		if e > riskEdge {
			out.Mu, out.Regret = math.Inf(1), 1
			return out
		}
	}
	// Between two grid points, the delta of the run is at most its value at the first point. The delta of the
	// normal distributions is at least its value at the second point.
	holds := func(mu float64) bool {
		for i, d := range upper {
			if d <= out.Delta {
				return true
			}
			g, err := GaussianDelta(1/mu, step*float64(i+1))
			if err != nil || d > g*(1-1e-9)+out.Delta {
				return false
			}
		}
		return true
	}
	hi := 1e-3
	for !holds(hi) {
		if hi *= 2; hi > 100 {
			out.Mu, out.Regret = math.Inf(1), 1
			return out
		}
	}
	_, hi = mathx.Halve(40, holds, hi/2, hi)
	out.Mu = hi
	for _, fpr := range []float64{1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9} {
		v, err := r.TPR(fpr)
		if err != nil {
			continue
		}
		normal := 0.5 * math.Erfc(-(hi-math.Sqrt2*math.Erfinv(1-2*fpr))/math.Sqrt2)
		out.Regret = math.Max(out.Regret, math.Min(1, normal+out.Delta)-v.Lower)
	}
	return out
}
