package accountant

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// guarantee is the (epsilon, delta) of one run.
type guarantee struct{ epsilon, delta float64 }

// guarantees is an event tree taken apart for the composition theorems, which
// see of a mechanism only its (epsilon, delta). Events with a whole trade-off
// instead, such as Gaussian noise, wait for their share of delta.
type guarantees struct {
	fixed     tally[guarantee]
	tradeoffs tally[Event]
	failures  tally[float64] // of whole subtrees; they add up
}

func (g *guarantees) compose(e Event, count int64, rel Relation) error {
	if err := validTree(e, 0); err != nil {
		return err
	}
	if err := atLeast("compose", "count", count, 0); err != nil {
		return err
	}
	var added guarantees
	if err := added.flatten(e, count, rel); err != nil {
		return err
	}
	if !g.fixed.fits(&added.fixed) || !g.tradeoffs.fits(&added.tradeoffs) || !g.failures.fits(&added.failures) {
		return errTooMany
	}
	g.fixed.merge(&added.fixed)
	g.tradeoffs.merge(&added.tradeoffs)
	g.failures.merge(&added.failures)
	return nil
}

func (g *guarantees) flatten(e Event, count int64, rel Relation) error {
	switch e := e.(type) {
	case Composed:
		for _, inner := range e.Events {
			if err := g.flatten(inner, count, rel); err != nil {
				return err
			}
		}
		return nil
	case Repeated:
		n, err := mul(count, e.Count)
		if err != nil {
			return err
		}
		return g.flatten(e.Event, n, rel)
	case WithFailure:
		if one, ok := guaranteeOf(e); ok {
			return g.fixed.add(one, count)
		}
		if e.Delta > 0 {
			if err := g.failures.add(e.Delta, count); err != nil {
				return err
			}
		}
		return g.flatten(e.Event, count, rel)
	case PoissonSampled:
		switch {
		case e.Probability == 0: // nobody takes part; still refuse what could not be accounted
			return new(guarantees).flatten(e.Event, count, rel)
		case rel == ReplaceOne:
			return &UnsupportedEventError{e, poissonNeedsAddRemove}
		case e.Probability == 1:
			return g.flatten(e.Event, count, rel)
		}
		return g.sampled(e, e.Probability, e.Event, count)
	case SampledWithoutReplacement:
		switch {
		case rel != ReplaceOne:
			return &UnsupportedEventError{e, withoutNeedsReplaceOne}
		case e.Size == 0:
			return new(guarantees).flatten(e.Event, count, rel)
		case e.Size == e.Population:
			return g.flatten(e.Event, count, rel)
		}
		return g.sampled(e, math.Min(1, e.probability()), e.Event, count)
	case TruncatedPoisson: // see terms.truncated
		if rel == ReplaceOne {
			return &UnsupportedEventError{e, poissonNeedsAddRemove}
		}
		if d := e.failure(); d > 0 {
			if err := g.failures.add(d, count); err != nil {
				return err
			}
		}
		return g.flatten(PoissonSampled{e.Probability, e.Event}, count, rel)
	case Group:
		inner, err := e.expand()
		if err != nil {
			return err
		}
		return g.flatten(inner, count, rel)
	case Selection:
		return g.selection(e, count, rel)
	}
	if only := e.row().relation(); only != 0 && only != rel {
		return new(terms).flatten(e, count, rel) // refuses, and says why
	}
	if one := e.row().twice(); one != nil {
		twice, err := mul(count, 2)
		if err != nil {
			return err
		}
		return g.flatten(one, twice, rel)
	}
	if one, ok := guaranteeOf(e); ok {
		return g.fixed.add(one, count)
	}
	if hasTradeoff(e) {
		return g.tradeoffs.add(e, count)
	}
	return &UnsupportedEventError{e, "its (epsilon, delta) is not known to the composition theorems"}
}

// sampled adds a sampled run of inner: (epsilon, delta) becomes
// (log(1 + q(e^epsilon - 1)), q delta), under add/remove for Poisson sampling
// and under replace-one for sampling without replacement (Balle, Barthe,
// Gaboardi 2018, Theorems 8 and 9).
func (g *guarantees) sampled(e Event, q float64, inner Event, count int64) error {
	if one, ok := guaranteeAnywhere(inner); ok {
		return g.fixed.add(one.amplified(q), count)
	}
	if hasTradeoff(inner) {
		return g.tradeoffs.add(e, count)
	}
	return &UnsupportedEventError{e, fmt.Sprintf("amplification by sampling is known here for a single mechanism only, not for %T", inner)}
}

// selection adds a selection of something pure: (2+eta) epsilon (Papernot,
// Steinke 2022; 3 epsilon for the geometric law, Liu, Talwar 2019).
func (g *guarantees) selection(e Selection, count int64, rel Relation) error {
	var inner guarantees
	if err := inner.flatten(e.Event, 1, rel); err != nil {
		return err
	}
	var rs []runs
	for i, k := range inner.fixed.keys {
		if k.delta > 0 {
			return &UnsupportedEventError{e, selectionNeedsPure}
		}
		rs = append(rs, runs{k.epsilon, inner.fixed.counts[i]})
	}
	if len(inner.tradeoffs.keys) > 0 || len(inner.failures.keys) > 0 {
		return &UnsupportedEventError{e, selectionNeedsPure}
	}
	return g.fixed.add(guarantee{mathx.Up((2 + e.Eta) * basicEpsilon(rs)), 0}, count)
}

const selectionNeedsPure = "a selection costs (2+eta) epsilon of something pure; with a delta or Gaussian noise use rdp"

func (o guarantee) amplified(q float64) guarantee {
	out := guarantee{epsilon: amplify(o.epsilon, q)}
	if o.delta > 0 {
		out.delta = mathx.Up(q * o.delta)
	}
	return out
}

// amplify returns log(1 + q(e^eps - 1)), rounded up.
func amplify(eps, q float64) float64 {
	switch {
	case eps == 0 || q == 0:
		return 0
	case math.IsInf(eps, 1):
		return eps
	case eps > 700:
		return math.Min(eps, mathx.LogAddExp(math.Log1p(-q), math.Log(q)+eps)*(1+1e-15))
	}
	return math.Min(eps, math.Log1p(q*math.Expm1(eps))*(1+1e-15))
}

// guaranteeOf returns the (epsilon, delta) of a single mechanism that has one.
func guaranteeOf(e Event) (guarantee, bool) { return e.row().guarantee() }

// guaranteeAnywhere is guaranteeOf for an event that is inside another, where nobody
// asks about the relation any more.
func guaranteeAnywhere(e Event) (guarantee, bool) {
	if e.row().relation() != 0 {
		return guarantee{}, false
	}
	return guaranteeOf(e)
}

// sumUp adds two numbers, neither negative, never below their sum and exactly
// where one is zero.
func sumUp(a, b float64) float64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return mathx.Up(a + b)
}

// hasTradeoff reports whether tradeoffEpsilon knows e.
func hasTradeoff(e Event) bool {
	noise, _ := e.row().sampledAs()
	_, gaussian := noise.(Gaussian)
	return gaussian || !math.IsNaN(e.row().rho())
}

// tradeoffEpsilon returns the epsilon of one run at delta > 0: exact for
// continuous Gaussian noise (Balle, Wang 2018), by zCDP otherwise, amplified if sampled.
func tradeoffEpsilon(e Event, delta float64) float64 {
	if !(delta > 0) {
		return math.Inf(1)
	}
	switch e := e.(type) {
	case SampledWithoutReplacement:
		q := math.Min(1, e.probability())
		return amplify(tradeoffEpsilon(e.Event, mathx.Down(delta/q)), q)
	case PoissonSampled:
		return amplify(tradeoffEpsilon(e.Event, mathx.Down(delta/e.Probability)), e.Probability)
	}
	if noise, _ := e.row().sampledAs(); noise != nil {
		if g, ok := noise.(Gaussian); ok && delta < 1 {
			return gaussianEpsilonAbove(g.NoiseMultiplier, delta)
		} else if ok {
			return 0
		}
	}
	if rho := e.row().rho(); !math.IsNaN(rho) {
		return zcdpEpsilon(rho, delta)
	}
	return math.Inf(1)
}

// gaussianEpsilonAbove is GaussianEpsilon rounded up by at most 1e-9
// relatively, by regula falsi (Illinois) in a few evaluations.
func gaussianEpsilonAbove(sigma, delta float64) float64 {
	target, mu := mathx.Log(delta), 1/sigma
	f := func(eps float64) float64 { return gaussianLogDelta(sigma, eps) - target }
	lo, flo := 0.0, f(0)
	if flo <= 0 {
		return 0
	}
	hi := mu*mu/2 + mu*math.Sqrt(-2*target)
	fhi := f(hi)
	for fhi > 0 && !math.IsInf(hi, 1) {
		lo, flo = hi, fhi
		hi *= 2
		fhi = f(hi)
	}
	for i := 0; i < 100 && hi-lo > 1e-9*hi; i++ {
		x := hi - fhi*(hi-lo)/(fhi-flo)
		if i%4 == 3 || !(x > lo && x < hi) {
			x = lo + (hi-lo)/2
		}
		if v := f(x); v <= 0 {
			hi, fhi, flo = x, v, flo/2
		} else {
			lo, flo, fhi = x, v, fhi/2
		}
	}
	return hi * (1 + slack)
}
