package audit

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
)

func validateAlpha(alpha float64) error {
	if !(alpha >= 1e-12 && alpha <= 0.5) {
		return fmt.Errorf("audit: the chance of a false alarm must be in [1e-12, 1/2], not %g", alpha)
	}
	return nil
}

// Claim states that a mechanism is (Epsilon, Delta)-differentially private.
type Claim struct {
	Epsilon float64 // >= 0, finite
	Delta   float64 // in [0, 1)
}

func (c Claim) validate() error {
	if !(c.Epsilon >= 0) || math.IsInf(c.Epsilon, 1) || !(c.Delta >= 0 && c.Delta < 1) {
		return fmt.Errorf("audit: a claim has a finite epsilon >= 0 and a delta in [0, 1), not (%g, %g)", c.Epsilon, c.Delta)
	}
	return nil
}

// Finding is the result of an audit.
type Finding struct {
	Claim Claim
	// Epsilon is a lower bound on the true epsilon at Claim.Delta, with confidence 1 - Alpha. It may be +Inf.
	Epsilon  float64
	Alpha    float64 // probability that a true claim is refuted; 0 for Exact
	Runs     int     // number of runs or guesses; 0 for Exact
	Evidence string  // source of the bound, in words
}

// Refuted reports whether the lower bound Epsilon exceeds Claim.Epsilon.
func (f Finding) Refuted() bool { return f.Epsilon > f.Claim.Epsilon }

// Exact returns a lower bound on epsilon, the largest over all pairs of neighbours. Each element of pairs
// has the log probabilities of all outcomes on two neighbours. Both slices list the outcomes in the same
// order. Exact tests both directions of each pair. The argument accuracy, in [0, 1e-3], is the largest
// relative error of a probability. Exact refutes no true claim.
//
// If accuracy is 0, the bound for a pair (P, Q) is the maximum over events S of log((P(S) - delta)/Q(S)).
// The bound exceeds the claim's epsilon if and only if the hockey-stick divergence at the claim's epsilon
// exceeds the claim's delta.
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

func checkLaw(logs []float64, accuracy float64) error {
	total := 0.0
	for _, l := range logs {
		total += math.Exp(l)
	}
	if !(math.Abs(total-1) <= accuracy+1e-12*float64(len(logs))) { // also true for NaN
		return fmt.Errorf("a law whose probabilities add up to %v", total)
	}
	return nil
}

func loss(p, q []float64, delta, accuracy float64) float64 {
	slack := math.Log1p(accuracy) - math.Log1p(-accuracy)
	if delta == 0 { // one outcome is enough, even a rare one
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
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[j]-q[j], p[i]-q[i]) })
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
