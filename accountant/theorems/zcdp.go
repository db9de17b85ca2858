package theorems

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
)

// Concentrated accounts by zero-concentrated differential privacy. The cost is a Rényi divergence of at most
// a*rho at every order a (Bun, Steinke 2016), plus a failure probability. Under composition, rho and failure
// probabilities add up. For Gaussian noise rho is exact. A pure mechanism has rho <= eps tanh(eps/2) (Steinke
// 2024). An exponential mechanism has rho <= eps^2/8 (Cesar, Rogers 2021). Sampling does not lower rho, so
// sampled events are rejected.
type Concentrated struct {
	relation   accountant.Relation
	conversion accountant.Conversion
	account    *accountant.RDP // holds the events
}

var _ accountant.Accountant = (*Concentrated)(nil)

// NewZCDP returns an empty account. The conversion Improved is Corollary 13 of Canonne, Kamath, Steinke 2020,
// optimised over real orders. Classic is rho + 2 sqrt(rho log(1/delta)) (Bun, Steinke 2016, Proposition 1.3).
func NewZCDP(rel accountant.Relation, c accountant.Conversion) (*Concentrated, error) {
	account, err := accountant.NewRDP(accountant.RDPConfig{Relation: rel, Conversion: c})
	if err != nil {
		return nil, err
	}
	return &Concentrated{relation: rel, conversion: c, account: account}, nil
}

func (z *Concentrated) Compose(e accountant.Event, count int64) error {
	alone, err := accountant.NewRDP(accountant.RDPConfig{Relation: z.relation})
	if err != nil {
		return err
	}
	if err := alone.Compose(e, count); err != nil {
		return err
	}
	for _, run := range alone.Runs() {
		if math.IsNaN(accountant.PropertiesOf(run.Event).Rho) {
			return unsupported(run.Event, "its divergence is not linear in the order: zCDP has no amplification by sampling and no selection")
		}
	}
	return z.account.Compose(e, count)
}

// Rho returns the composed rho. The result failure bounds the probability that rho is not valid.
func (z *Concentrated) Rho() (rho, failure float64) {
	runs := z.account.Runs()
	for _, run := range runs {
		rho += accountant.PropertiesOf(run.Event).Rho * float64(run.Count)
	}
	_, failure, _ = z.account.RDP(nil) // an empty list has no invalid order
	return rho * (1 + 1e-15*float64(1+len(runs))), failure
}

func (z *Concentrated) Epsilon(_ context.Context, delta float64) (accountant.Bound, error) {
	if !(delta >= 0 && delta < 1) {
		return accountant.Bound{}, fmt.Errorf("theorems: delta must be in [0, 1), got %v", delta)
	}
	rho, failure := z.Rho()
	b := accountant.Bound{Conversion: z.conversion, FailureDelta: failure}
	left := delta
	if failure > 0 {
		left = mathx.Down(delta - failure)
	}
	switch {
	case left < 0, left == 0 && rho > 0, math.IsInf(rho, 1):
		b.Upper = math.Inf(1)
	case rho == 0:
	case z.conversion == accountant.Classic:
		b.Upper = roundUp(rho + 2*math.Sqrt(rho*math.Log(1/left)))
		b.Order = 1 + math.Sqrt(math.Log(1/left)/rho)
	default:
		b.Upper, b.Order = zcdpBest(rho, left)
	}
	return b, nil
}

func (z *Concentrated) Delta(_ context.Context, epsilon float64) (accountant.Bound, error) {
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) {
		return accountant.Bound{}, fmt.Errorf("theorems: epsilon must be a finite number, at least 0, got %v", epsilon)
	}
	rho, failure := z.Rho()
	b := accountant.Bound{Conversion: z.conversion, FailureDelta: failure, Upper: failure}
	switch {
	case rho == 0:
		return b, nil
	case math.IsInf(rho, 1):
		b.Upper = 1
		return b, nil
	}
	var log float64
	if z.conversion == accountant.Classic {
		if epsilon > rho {
			d := epsilon - rho
			log = -d * d / (4 * rho)
			b.Order = 1 + d/(2*rho)
		}
	} else {
		log, b.Order = zcdpLogDelta(rho, epsilon)
	}
	b.Upper = math.Min(1, mathx.SumUp(failure, mathx.Up(math.Exp(log)*(1+1e-15*(4-log)))))
	return b, nil
}

func zcdpEpsilon(rho, delta float64) float64 {
	if rho == 0 {
		return 0
	}
	eps, _ := zcdpBest(rho, delta)
	return eps
}

// zcdpBest minimises a rho + log(1-1/a) - (log delta + log a)/(a-1) over real a > 1. Every a gives a valid
// epsilon. At the minimum (a-1)^2 rho = log(1/(a delta)).
func zcdpBest(rho, delta float64) (eps, order float64) {
	log := mathx.Log(delta)
	t := mathx.Bisect(func(t float64) bool {
		a1 := math.Exp(t)
		return a1*a1*rho+math.Log1p(a1)+log >= 0
	}, -300, 350)
	a1 := math.Exp(t)
	eps = (1+a1)*rho - math.Log1p(1/a1) - (log+math.Log1p(a1))/a1
	if math.IsNaN(eps) {
		return math.Inf(1), 0
	}
	return roundUp(math.Max(0, eps)), 1 + a1
}

// zcdpLogDelta minimises (a-1)(a rho - eps) + (a-1) log(1-1/a) - log a over real a > 1. The derivative,
// (2a-1) rho - eps + log(1-1/a), grows with a.
func zcdpLogDelta(rho, eps float64) (logDelta, order float64) {
	t := mathx.Bisect(func(t float64) bool {
		a1 := math.Exp(t)
		return (2*a1+1)*rho-eps-math.Log1p(1/a1) >= 0
	}, -300, 700)
	a1 := math.Exp(t)
	if !mathx.IsFinite(a1 * (a1 + 1) * rho) {
		return 0, 0
	}
	log := a1*((1+a1)*rho-eps) - a1*math.Log1p(1/a1) - math.Log1p(a1)
	return math.Min(0, log), 1 + a1
}

// PairEpsilon converts an (epsilon, delta) guarantee to another delta, the argument `at`. It returns the
// least epsilon that is valid at this delta for all mechanisms with the guarantee. If at < delta, PairEpsilon
// returns +Inf. The result is exact: the worst mechanism fails with probability delta, and otherwise is
// randomised response (Kairouz, Oh, Viswanath 2015).
func PairEpsilon(epsilon, delta, at float64) float64 {
	switch {
	case !(epsilon >= 0) || !(delta >= 0 && delta <= 1) || !(at >= 0 && at < 1) || at < delta:
		return math.Inf(1)
	case at == delta || epsilon == 0:
		return epsilon
	}
	d := mathx.Down((at - delta) / (1 - delta))
	// Randomised response has delta d = (e^epsilon - e^x)/(1 + e^epsilon) at x. Solve this equation for x.
	less := d * (1 + math.Exp(-epsilon))
	if less >= 1 {
		return 0
	}
	return math.Max(0, epsilon+math.Log1p(-less)+4e-16*(1+epsilon)) // 4e-16: rounding error
}

// TPR bounds the true positive rate of a membership test with false positive rate fpr. By post-processing,
// the Rényi divergence of the test's output at any order a is at most rho*a, in either direction. TPR finds
// the largest true positive rate that satisfies this bound at all orders of a grid. The result is this rate
// plus the account's failure probability.
func (z *Concentrated) TPR(fpr float64) (float64, error) {
	if !(fpr >= 0 && fpr <= 1) {
		return 0, fmt.Errorf("theorems: a rate of false alarms must be in [0, 1], not %v", fpr)
	}
	rho, failure := z.Rho()
	if math.IsInf(rho, 1) || fpr == 1 {
		return 1, nil
	}
	// Rates above hi are impossible, or hi is 1.
	_, hi := mathx.Halve(50, func(p float64) bool { return !bitAllowed(p, fpr, rho) }, fpr, 1)
	// With failure f a test of false positive rate x has true positive rate at most (1-f) g(x/(1-f)) + f.
	// Here g is the bound of rho alone, concave with g(0) >= 0. So the rate is at most g(x) + f. The argument
	// needs failures that are mixtures. All events with a rho have such failures: WithFailure by definition,
	// and (epsilon, f)-DP mechanisms by Kairouz, Oh, Viswanath 2015. A divergence that holds only with
	// probability 1-f would allow more.
	return math.Min(1, mathx.SumUp(hi*(1+1e-12), failure)), nil
}

// bitAllowed tests rho-zCDP of two Bernoulli variables with means p and q, in both directions. It tests only
// a grid of orders, so it may allow more than rho-zCDP does.
func bitAllowed(p, q, rho float64) bool {
	if p == q {
		return true
	}
	if p == 0 || q == 0 || p == 1 || q == 1 { // only one of the bits is certain: infinite divergence
		return false
	}
	one, zero := math.Log(p), math.Log1p(-p)
	ratioOne, ratioZero := one-math.Log(q), zero-math.Log1p(-q)
	for i := -80; i <= 120; i++ {
		a1 := math.Exp2(float64(i) / 8) // order - 1, from 2^-10 to 2^15
		most := a1 * (1 + a1) * rho * (1 + 1e-12)
		// log of p^a q^(1-a) + (1-p)^a (1-q)^(1-a). For reverse, p and q are exchanged.
		forward := mathx.LogAddExp(one+a1*ratioOne, zero+a1*ratioZero)
		reverse := mathx.LogAddExp(one-(1+a1)*ratioOne, zero-(1+a1)*ratioZero)
		if math.Max(forward, reverse) > most+1e-13 {
			return false
		}
	}
	return true
}
