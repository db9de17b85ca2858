package theorems

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
)

type runs struct {
	epsilon float64
	count   int64
}

// composition divides delta among failure probabilities, deltas of runs, and the slack of a composition
// theorem.
type composition struct {
	relation accountant.Relation
	events   guarantees
	// bound returns the total epsilon of the pure runs rs at delta = slack >= 0. The epsilons of rs are
	// distinct and ascending.
	bound func(rs []runs, slack float64) float64
	// split equals bound, or approximates bound faster, for the slack search. If split is nil, the theorem
	// has no slack.
	split func(rs []runs, slack float64) float64
}

func newComposition(rel accountant.Relation, split, bound func([]runs, float64) float64) (accountant.Accountant, error) {
	if _, err := rel.MarshalText(); err != nil {
		return nil, fmt.Errorf("theorems: the relation must be AddRemove or ReplaceOne, got %v", rel)
	}
	return &composition{relation: rel, bound: bound, split: split}, nil
}

// NewBasic returns an empty account by basic composition (Dwork, Kenthapadi, McSherry, Mironov, Naor 2006).
// Epsilons add up, and deltas add up. Runs with an epsilon-delta curve share equally the delta that other
// runs do not use. The bound is also valid for adaptively chosen mechanisms.
func NewBasic(rel accountant.Relation) (accountant.Accountant, error) {
	return newComposition(rel, nil, func(rs []runs, _ float64) float64 { return basicEpsilon(rs) })
}

func basicEpsilon(rs []runs) float64 {
	sum := 0.0
	for _, r := range rs {
		term := r.epsilon
		if r.count > 1 {
			term = mathx.Up(r.epsilon * float64(r.count))
		}
		sum = mathx.SumUp(sum, term)
	}
	if math.IsNaN(sum) {
		return math.Inf(1)
	}
	return sum
}

func (c *composition) Compose(e accountant.Event, count int64) error {
	return c.events.compose(e, count, c.relation)
}

func (c *composition) Epsilon(_ context.Context, delta float64) (accountant.Bound, error) {
	if !(delta >= 0 && delta < 1) {
		return accountant.Bound{}, fmt.Errorf("theorems: delta must be in [0, 1), got %v", delta)
	}
	b := accountant.Bound{FailureDelta: c.failure()}
	left := delta
	if b.FailureDelta > 0 {
		left = mathx.Down(delta - b.FailureDelta)
	}
	if left < 0 {
		b.Upper = math.Inf(1)
		return b, nil
	}
	if len(c.events.tradeoffs.Keys) == 0 {
		b.Upper = c.at(c.bound, left, 0)
		return b, nil
	}
	n := 0.0
	for _, count := range c.events.tradeoffs.Counts {
		n += float64(count)
	}
	budget := left - c.spent(0)
	switch {
	case !(budget > 0):
		b.Upper = math.Inf(1)
	case c.split == nil:
		b.Upper = c.at(c.bound, left, budget/n*(1-1e-12))
	default:
		b.Upper = c.search(left, budget/n)
	}
	return b, nil
}

func (c *composition) search(delta, budget float64) float64 {
	// A run with an epsilon-delta curve gets a fraction f of budget, and the slack gets the rest. Any f is
	// valid, so the search need not be exact.
	at := func(bound func([]runs, float64) float64, t float64) float64 {
		return c.at(bound, delta, budget/(1+math.Exp(-t)))
	}
	near, best := 0.0, math.Inf(1)
	for t := -12.0; t <= 12; t += 3 {
		if v := at(c.split, t); v < best {
			near, best = t, v
		}
	}
	near, _ = walk(func(t float64) float64 { return at(c.split, t) }, near, best, 1.5)
	_, best = walk(func(t float64) float64 { return at(c.bound, t) }, near, at(c.bound, near), 0.5)
	return best
}

func walk(f func(float64) float64, x, fx, step float64) (float64, float64) {
	for last := step / 16; step >= last; step /= 2 {
		if v := f(x + step); v < fx {
			x, fx = x+step, v
		} else if v := f(x - step); v < fx {
			x, fx = x-step, v
		}
	}
	return x, fx
}

func (c *composition) Delta(ctx context.Context, epsilon float64) (accountant.Bound, error) {
	return deltaByEpsilon(ctx, epsilon, c.Epsilon)
}

func (c *composition) failure() float64 {
	sum := 0.0
	for i, d := range c.events.failures.Keys {
		sum = mathx.SumUp(sum, mathx.Up(float64(c.events.failures.Counts[i])*d))
	}
	return math.Min(1, sum)
}

// spent returns 1 minus the product of (1 - delta_i) over all runs i, rounded up. If run i has an
// epsilon-delta curve, delta_i is `share`. Otherwise delta_i is the delta of run i.
func (c *composition) spent(share float64) float64 {
	log := 0.0
	for i, k := range c.events.fixed.Keys {
		if k.delta > 0 {
			log += float64(c.events.fixed.Counts[i]) * math.Log1p(-k.delta)
		}
	}
	if share > 0 {
		for _, n := range c.events.tradeoffs.Counts {
			log += float64(n) * math.Log1p(-share)
		}
	}
	if log == 0 {
		return 0
	}
	return -math.Expm1(log) * (1 + 1e-15)
}

// at returns the total epsilon at delta. Each run with an epsilon-delta curve counts with its epsilon at
// delta `share`.
func (c *composition) at(bound func([]runs, float64) float64, delta, share float64) float64 {
	// The slack is (delta - d)/(1 - d), with d = 1 - product of (1 - delta_i) (Kairouz, Oh, Viswanath 2015,
	// Theorem 3.5).
	d := c.spent(share)
	var slack float64
	switch {
	case d == 0:
		slack = delta
	case d > delta*(1+2e-15):
		return math.Inf(1)
	default:
		slack = math.Max(0, mathx.Down((delta-d)/(1-d)*(1-1e-15)))
	}
	rs := make([]runs, 0, len(c.events.fixed.Keys)+len(c.events.tradeoffs.Keys))
	for i, k := range c.events.fixed.Keys {
		rs = append(rs, runs{k.epsilon, c.events.fixed.Counts[i]})
	}
	for i, e := range c.events.tradeoffs.Keys {
		rs = append(rs, runs{tradeoffEpsilon(e, share), c.events.tradeoffs.Counts[i]})
	}
	return bound(mergeRuns(rs), slack)
}

func mergeRuns(rs []runs) []runs {
	slices.SortFunc(rs, func(a, b runs) int { return cmp.Compare(a.epsilon, b.epsilon) })
	out := rs[:0]
	for _, r := range rs {
		switch last := len(out) - 1; {
		case r.epsilon == 0 || r.count == 0:
		case last >= 0 && out[last].epsilon == r.epsilon && out[last].count <= math.MaxInt64-r.count:
			out[last].count += r.count
		default:
			out = append(out, r)
		}
	}
	return out
}

// deltaByEpsilon returns the least delta at which the epsilon of `at` is at most epsilon. The function `at`
// must be nonincreasing in delta.
func deltaByEpsilon(
	ctx context.Context, epsilon float64, at func(ctx context.Context, delta float64) (accountant.Bound, error),
) (accountant.Bound, error) {
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) {
		return accountant.Bound{}, fmt.Errorf("theorems: epsilon must be a finite number, at least 0, got %v", epsilon)
	}
	try := func(delta float64) (accountant.Bound, bool, error) {
		b, err := at(ctx, delta)
		return b, err == nil && b.Upper <= epsilon, err
	}
	if b, ok, err := try(0); err != nil || ok {
		b.Upper = 0
		return b, err
	}
	almost := math.Nextafter(1, 0)
	best, ok, err := try(almost)
	if err != nil {
		return accountant.Bound{}, err
	}
	if !ok {
		best.Upper = 1
		return best, nil
	}
	// Regula falsi (Illinois) in log delta. The epsilon suffices at hi, but not at lo.
	delta := almost
	lo, hi := math.Log(1e-307), 0.0
	flo, fhi := math.Inf(1), best.Upper-epsilon
	for i := 0; i < 200 && hi-lo > 4e-16*math.Max(1, -hi); i++ {
		x := lo + (hi-lo)/2
		if i%3 != 2 && !math.IsInf(flo, 1) && fhi < 0 {
			if s := hi - fhi*(hi-lo)/(fhi-flo); s > lo && s < hi {
				x = s
			}
		}
		d := math.Min(math.Exp(x), almost)
		b, err := at(ctx, d)
		if err != nil {
			return accountant.Bound{}, err
		}
		if f := b.Upper - epsilon; f <= 0 {
			best, delta, hi, fhi, flo = b, d, x, f, flo/2
		} else {
			lo, flo, fhi = x, f, fhi/2
		}
	}
	best.Upper = delta
	return best, nil
}
