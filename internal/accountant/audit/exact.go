package audit

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
)

// Exact returns the largest loss over pairs of neighbours whose output laws are known. A pair holds the
// natural logarithms of the probabilities of all outcomes, in one order, on two neighbouring inputs; both
// directions are tried. Probabilities have the given relative accuracy, in [0, 1e-3]: then no true claim is
// refuted.
//
// The bound is the maximum over events S of log((P(S) - delta)/Q(S)), attained by a set of outcomes of
// large P/Q. It exceeds a claim if and only if the hockey-stick divergence at the claim's epsilon exceeds
// its delta.
func Exact(claim Claim, accuracy float64, pairs iter.Seq2[[]float64, []float64]) (Finding, error) {
	if err := claim.validate(); err != nil {
		return Finding{}, err
	}
	if !(accuracy >= 0 && accuracy <= 1e-3) {
		return Finding{}, fmt.Errorf("audit: accuracy %g is not in [0, 1e-3]", accuracy)
	}
	worst, n := 0.0, 0
	for p, q := range pairs {
		if len(p) != len(q) {
			return Finding{}, fmt.Errorf("audit: pair %d: %d outcomes against %d", n, len(p), len(q))
		}
		if err := errors.Join(checkLaw(p, accuracy), checkLaw(q, accuracy)); err != nil {
			return Finding{}, fmt.Errorf("audit: pair %d: %w", n, err)
		}
		worst = max(worst, loss(p, q, claim.Delta, accuracy), loss(q, p, claim.Delta, accuracy))
		n++
	}
	if n == 0 {
		return Finding{}, errors.New("audit: no neighbours")
	}
	return Finding{Claim: claim, Epsilon: worst, Evidence: fmt.Sprintf("the laws of %d pairs of neighbours", n)}, nil
}

// checkLaw refuses probabilities that do not add up to 1, up to rounding.
func checkLaw(logs []float64, accuracy float64) error {
	total := 0.0
	for _, l := range logs {
		total += math.Exp(l)
	}
	if !(math.Abs(total-1) <= accuracy+1e-12*float64(len(logs))) { // also if it is NaN
		return fmt.Errorf("a law whose probabilities add up to %v", total)
	}
	return nil
}

func loss(p, q []float64, delta, accuracy float64) float64 {
	slack := math.Log1p(accuracy) - math.Log1p(-accuracy)
	if delta == 0 { // a single outcome, which may be as rare as it likes
		worst := 0.0
		for i := range p {
			if !math.IsInf(p[i], -1) {
				worst = max(worst, p[i]-q[i]-slack)
			}
		}
		return worst
	}
	order := make([]int, 0, len(p))
	for i := range p {
		if !math.IsInf(p[i], -1) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(p[j]-q[j], p[i]-q[i])
	})
	worst, on, beside := 0.0, 0.0, 0.0
	for _, i := range order {
		on += math.Exp(p[i])
		beside += math.Exp(q[i])
		if rest := on*(1-accuracy-1e-14) - delta; rest > 0 {
			worst = max(worst, math.Log(rest)-math.Log(beside)-math.Log1p(accuracy))
		}
	}
	return worst
}
