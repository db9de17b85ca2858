package accountant

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// runs says that count mechanisms, each pure epsilon-DP once the deltas are set
// aside, ran.
type runs struct {
	epsilon float64
	count   int64
}

// composition is what the accountants of composition theorems share: the
// events, and how delta is divided between failures, the deltas of the runs,
// and the slack a theorem may spend.
type composition struct {
	relation Relation
	events   guarantees
	// bound returns an epsilon of the composition of pure runs with distinct
	// epsilons, ascending, at delta = slack >= 0.
	bound func(rs []runs, slack float64) float64
	// spends says whether bound gets smaller with more slack: then delta is
	// split between the runs and the theorem, otherwise the runs take it all.
	spends bool
}

func newComposition(rel Relation, spends bool, bound func([]runs, float64) float64) (composition, error) {
	if _, err := rel.MarshalText(); err != nil {
		return composition{}, fmt.Errorf("accountant: the relation must be AddRemove or ReplaceOne, got %v", rel)
	}
	return composition{relation: rel, bound: bound, spends: spends}, nil
}

// Compose implements Accountant.
func (c *composition) Compose(e Event, count int64) error {
	return c.events.compose(e, count, c.relation)
}

// Epsilon implements Accountant.
func (c *composition) Epsilon(delta float64) (Bound, error) {
	if !(delta >= 0 && delta < 1) {
		return Bound{}, fmt.Errorf("accountant: delta must be in [0, 1), got %v", delta)
	}
	b := Bound{FailureDelta: c.failure()}
	left := delta
	if b.FailureDelta > 0 {
		left = mathx.Down(delta - b.FailureDelta)
	}
	if left < 0 {
		b.Upper = math.Inf(1)
		return b, nil
	}
	if len(c.events.tradeoffs.keys) == 0 {
		b.Upper = c.at(left, 0)
		return b, nil
	}
	n := 0.0
	for _, count := range c.events.tradeoffs.counts {
		n += float64(count)
	}
	budget := left - c.fixedDelta()
	if !(budget > 0) {
		b.Upper = math.Inf(1)
		return b, nil
	}
	if !c.spends {
		b.Upper = c.at(left, budget/n*(1-1e-12))
		return b, nil
	}
	// Any split is valid: a coarse scan of log(f/(1-f)), then its best valley.
	split := func(t float64) float64 {
		f := 1 / (1 + math.Exp(-t))
		return c.at(left, f*budget/n)
	}
	best, at := math.Inf(1), 0.0
	for t := -12.0; t <= 12; t += 3 {
		if v := split(t); v < best {
			best, at = v, t
		}
	}
	_, v := goldenSection(func(x float64) float64 { return split(x - 100) }, at-3+100, at+3+100)
	b.Upper = math.Min(best, v)
	return b, nil
}

// Delta implements Accountant. It is the least delta at which Epsilon stays
// within epsilon.
func (c *composition) Delta(epsilon float64) (Bound, error) {
	return deltaByEpsilon(epsilon, c.Epsilon)
}

// failure returns the summed failures of whole subtrees, rounded up.
func (c *composition) failure() float64 {
	sum := 0.0
	for i, d := range c.events.failures.keys {
		sum = sumUp(sum, mathx.Up(float64(c.events.failures.counts[i])*d))
	}
	return math.Min(1, sum)
}

// fixedDelta returns 1 - product of (1 - delta_i) over the fixed guarantees,
// rounded up.
func (c *composition) fixedDelta() float64 {
	return c.spent(0)
}

func (c *composition) spent(share float64) float64 {
	log := 0.0
	for i, k := range c.events.fixed.keys {
		if k.delta > 0 {
			log += float64(c.events.fixed.counts[i]) * math.Log1p(-k.delta)
		}
	}
	if share > 0 {
		for _, n := range c.events.tradeoffs.counts {
			log += float64(n) * math.Log1p(-share)
		}
	}
	if log == 0 {
		return 0
	}
	return -math.Expm1(log) * (1 + 1e-15)
}

// at returns epsilon when every trade-off takes share of delta. The deltas of
// the runs leave slack = (delta - d)/(1 - d), d = 1 - product of (1 - delta_i)
// (Kairouz, Oh, Viswanath 2015, Theorem 3.5).
func (c *composition) at(delta, share float64) float64 {
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
	rs := make([]runs, 0, len(c.events.fixed.keys)+len(c.events.tradeoffs.keys))
	for i, k := range c.events.fixed.keys {
		rs = append(rs, runs{k.epsilon, c.events.fixed.counts[i]})
	}
	for i, e := range c.events.tradeoffs.keys {
		rs = append(rs, runs{tradeoffEpsilon(e, share), c.events.tradeoffs.counts[i]})
	}
	return c.bound(mergeRuns(rs), slack)
}

// mergeRuns sorts by epsilon, joins equal ones and drops those that cost nothing.
// Counts beyond an int64 would need as many composes; they saturate upwards in
// the theorems, which use them as float64.
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

// deltaByEpsilon inverts a non-increasing Epsilon: the least delta, to the last
// bits, at which it is at most epsilon.
func deltaByEpsilon(epsilon float64, at func(delta float64) (Bound, error)) (Bound, error) {
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) {
		return Bound{}, fmt.Errorf("accountant: epsilon must be a finite number, at least 0, got %v", epsilon)
	}
	try := func(delta float64) (Bound, bool, error) {
		b, err := at(delta)
		return b, err == nil && b.Upper <= epsilon, err
	}
	if b, ok, err := try(0); err != nil || ok {
		b.Upper = 0
		return b, err
	}
	const least = 1e-307
	almost := math.Nextafter(1, 0)
	best, ok, err := try(almost)
	if err != nil {
		return Bound{}, err
	}
	if !ok {
		best.Upper = 1
		return best, nil
	}
	hi := almost
	logDelta := bisect(func(x float64) bool {
		d := math.Min(math.Exp(x), almost)
		b, ok, _ := try(d)
		if ok {
			best, hi = b, d
		}
		return ok
	}, math.Log(least), 0)
	if d := math.Min(mathx.Up(math.Exp(logDelta)), almost); d < hi {
		if b, ok, _ := try(d); ok {
			best, hi = b, d
		}
	}
	best.Upper = hi
	return best, nil
}
