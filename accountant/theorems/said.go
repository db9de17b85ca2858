package theorems

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// PairEpsilon returns the epsilon that one (epsilon, delta) gives at another delta: the least epsilon there
// that every mechanism with that guarantee has, +Inf below its delta. The worst one fails with probability
// delta and is randomised response otherwise (Kairouz, Oh, Viswanath 2015), whose delta at e is (e^epsilon
// - e^e)/(1 + e^epsilon): so it is exact.
func PairEpsilon(epsilon, delta, at float64) float64 {
	switch {
	case !(epsilon >= 0) || !(delta >= 0 && delta <= 1) || !(at >= 0 && at < 1) || at < delta:
		return math.Inf(1)
	case at == delta || epsilon == 0:
		return epsilon
	}
	d := mathx.Down((at - delta) / (1 - delta))
	// epsilon + log(1 - d (1 + e^-epsilon)), with room for its rounding
	less := d * (1 + math.Exp(-epsilon))
	if less >= 1 {
		return 0
	}
	return math.Max(0, epsilon+math.Log1p(-less)+4e-16*(1+epsilon))
}

// TPR bounds how many a test finds at a rate of false alarms: the most that rho allows. What a test answers
// is one bit, whose divergence at no order and in neither direction is above the divergence of the run;
// tests that use all of this are the bound. Orders are a grid, and each holds, so a finer one could only
// lower it.
func (z *Concentrated) TPR(fpr float64) (float64, error) {
	if !(fpr >= 0 && fpr <= 1) {
		return 0, fmt.Errorf("theorems: a rate of false alarms must be in [0, 1], not %v", fpr)
	}
	rho, failure := z.Rho()
	if math.IsInf(rho, 1) || fpr == 1 {
		return 1, nil
	}
	// What is below hi may be allowed; hi is not, or is 1.
	_, hi := mathx.Halve(50, func(p float64) bool { return !bitAllowed(p, fpr, rho) }, fpr, 1)
	// With failure f a test that accuses a share x finds at most (1-f) g(x/(1-f)) + f, for g the bound of
	// rho alone, which is concave from g(0) >= 0: at most g(x) + f. That is for failures that are mixtures,
	// as for all events with a rho: WithFailure is one by definition, and an (epsilon, f)-private mechanism
	// in both directions by Kairouz, Oh, Viswanath 2015, with the rho of epsilon. A divergence on an event
	// of probability 1-f alone allows more.
	return math.Min(1, mathx.SumUp(hi*(1+1e-12), failure)), nil
}

// bitAllowed reports whether two bits of these probabilities are within rho at all orders that are tried,
// in both directions.
func bitAllowed(p, q, rho float64) bool {
	if p == q {
		return true
	}
	if p == 0 || q == 0 || p == 1 || q == 1 { // and not the other: infinitely far
		return false
	}
	one, zero := math.Log(p), math.Log1p(-p)
	ratioOne, ratioZero := one-math.Log(q), zero-math.Log1p(-q)
	for i := -80; i <= 120; i++ {
		a1 := math.Exp2(float64(i) / 8) // order - 1, from 2^-10 to 2^15
		most := a1 * (1 + a1) * rho * (1 + 1e-12)
		// log of p^a q^(1-a) + (1-p)^a (1-q)^(1-a), and with p and q exchanged
		forward := mathx.LogAddExp(one+a1*ratioOne, zero+a1*ratioZero)
		reverse := mathx.LogAddExp(one-(1+a1)*ratioOne, zero-(1+a1)*ratioZero)
		if math.Max(forward, reverse) > most+1e-13 {
			return false
		}
	}
	return true
}
