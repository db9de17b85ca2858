package theorems

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
)

type guarantee struct{ epsilon, delta float64 }

type guarantees struct {
	fixed     mathx.Multiset[guarantee]        // with one (epsilon, delta)
	tradeoffs mathx.Multiset[accountant.Event] // with an epsilon-delta curve
	failures  mathx.Multiset[float64]          // of whole subtrees; they add up
}

func (g *guarantees) compose(e accountant.Event, count int64, rel accountant.Relation) error {
	if err := checkRuns(e, count); err != nil {
		return err
	}
	var added guarantees
	if err := added.flatten(e, count, rel); err != nil {
		return err
	}
	if !g.fixed.Fits(&added.fixed) || !g.tradeoffs.Fits(&added.tradeoffs) || !g.failures.Fits(&added.failures) {
		return errTooMany
	}
	g.fixed.Merge(&added.fixed)
	g.tradeoffs.Merge(&added.tradeoffs)
	g.failures.Merge(&added.failures)
	return nil
}

func checkRuns(e accountant.Event, count int64) error {
	return accountant.Validate(accountant.Repeated{Event: e, Count: count})
}

var errTooMany = fmt.Errorf("%w: more than %d runs of one event", accountant.ErrInvalidEvent, int64(math.MaxInt64))

func unsupported(e accountant.Event, reason string) error {
	return &accountant.UnsupportedEventError{Event: e, Reason: reason}
}

func add[K comparable](m *mathx.Multiset[K], k K, n int64) error {
	if !m.Add(k, n) {
		return errTooMany
	}
	return nil
}

func mul(a, b int64) (int64, error) {
	n, ok := mathx.MulCounts(a, b)
	if !ok {
		return 0, errTooMany
	}
	return n, nil
}

func (g *guarantees) flatten(e accountant.Event, count int64, rel accountant.Relation) error {
	switch e := e.(type) {
	case accountant.Composed:
		for _, inner := range e.Events {
			if err := g.flatten(inner, count, rel); err != nil {
				return err
			}
		}
		return nil
	case accountant.Repeated:
		n, err := mul(count, e.Count)
		if err != nil {
			return err
		}
		return g.flatten(e.Event, n, rel)
	case accountant.WithFailure:
		if p := accountant.PropertiesOf(e); p.Guaranteed {
			return add(&g.fixed, guarantee{p.Epsilon, p.Delta}, count)
		}
		if e.Delta > 0 {
			if err := add(&g.failures, e.Delta, count); err != nil {
				return err
			}
		}
		return g.flatten(e.Event, count, rel)
	case accountant.PoissonSampled:
		switch {
		case e.Probability == 0: // no record takes part; an unsupported event still gives an error
			return new(guarantees).flatten(e.Event, count, rel)
		case rel == accountant.ReplaceOne:
			return refusal(e, rel)
		case e.Probability == 1:
			return g.flatten(e.Event, count, rel)
		}
		return g.sampled(e, e.Probability, e.Event, count)
	case accountant.SampledWithoutReplacement:
		switch {
		case rel != accountant.ReplaceOne:
			return refusal(e, rel)
		case e.Size == 0:
			return new(guarantees).flatten(e.Event, count, rel)
		case e.Size == e.Population:
			return g.flatten(e.Event, count, rel)
		}
		return g.sampled(e, math.Min(1, e.Probability()), e.Event, count)
	case accountant.TruncatedPoisson: // as in accountant.TruncatedPoisson
		if rel == accountant.ReplaceOne {
			return refusal(e, rel)
		}
		if d := e.Failure(); d > 0 {
			if err := add(&g.failures, d, count); err != nil {
				return err
			}
		}
		return g.flatten(accountant.PoissonSampled{Probability: e.Probability, Event: e.Event}, count, rel)
	case accountant.Group:
		inner, err := e.Expand()
		if err != nil {
			return err
		}
		return g.flatten(inner, count, rel)
	case accountant.Selection:
		return g.selection(e, count, rel)
	}
	p := accountant.PropertiesOf(e)
	switch {
	case p.Relation != 0 && p.Relation != rel:
		return refusal(e, rel)
	case p.Twice != nil:
		twice, err := mul(count, 2)
		if err != nil {
			return err
		}
		return g.flatten(p.Twice, twice, rel)
	case p.Guaranteed:
		return add(&g.fixed, guarantee{p.Epsilon, p.Delta}, count)
	case hasTradeoff(p):
		return add(&g.tradeoffs, e, count)
	}
	return unsupported(e, "its (epsilon, delta) is not known to the composition theorems")
}

// sampled adds count copies of the event e. This event runs `inner` on samples that contain each record with
// probability q.
func (g *guarantees) sampled(e accountant.Event, q float64, inner accountant.Event, count int64) error {
	// Sampling turns (epsilon, delta) into (log(1 + q(e^epsilon - 1)), q delta). This is valid for Poisson
	// sampling under add/remove, and for sampling without replacement under replace-one (Balle, Barthe,
	// Gaboardi 2018, Theorems 8 and 9).
	p := accountant.PropertiesOf(inner)
	if one := (guarantee{p.Epsilon, p.Delta}); p.Guaranteed && p.Relation == 0 {
		return add(&g.fixed, one.amplified(q), count)
	}
	if hasTradeoff(p) && !p.Guaranteed {
		return add(&g.tradeoffs, e, count)
	}
	return unsupported(e, fmt.Sprintf("amplification by sampling is known here for a single mechanism only, not for %T", inner))
}

// selection adds count copies of e to g. A selection among pure epsilon runs costs (2+Eta) epsilon (Papernot,
// Steinke 2022). If the number of runs is geometric, Eta is 1 and the cost is 3 epsilon (Liu, Talwar 2019).
func (g *guarantees) selection(e accountant.Selection, count int64, rel accountant.Relation) error {
	var inner guarantees
	if err := inner.flatten(e.Event, 1, rel); err != nil {
		return err
	}
	var rs []runs
	for i, k := range inner.fixed.Keys {
		if k.delta > 0 {
			return unsupported(e, selectionNeedsPure)
		}
		rs = append(rs, runs{k.epsilon, inner.fixed.Counts[i]})
	}
	if len(inner.tradeoffs.Keys) > 0 || len(inner.failures.Keys) > 0 {
		return unsupported(e, selectionNeedsPure)
	}
	return add(&g.fixed, guarantee{mathx.Up((2 + e.Eta) * basicEpsilon(rs)), 0}, count)
}

const selectionNeedsPure = "a selection costs (2+eta) epsilon of something pure; with a delta or Gaussian noise use rdp"

func (o guarantee) amplified(q float64) guarantee {
	out := guarantee{epsilon: amplify(o.epsilon, q)}
	if o.delta > 0 {
		out.delta = mathx.Up(q * o.delta)
	}
	return out
}

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

func refusal(e accountant.Event, rel accountant.Relation) error {
	account, err := accountant.NewRDP(accountant.RDPConfig{Relation: rel})
	if err != nil {
		return err
	}
	if err := account.Compose(e, 1); err != nil {
		return err
	}
	return unsupported(e, "its (epsilon, delta) under "+rel.String()+" is not known to the composition theorems; rdp accounts it")
}

func hasTradeoff(p accountant.Properties) bool {
	return p.NoiseMultiplier > 0 || !math.IsNaN(p.Rho)
}

func tradeoffEpsilon(e accountant.Event, delta float64) float64 {
	if !(delta > 0) {
		return math.Inf(1)
	}
	switch e := e.(type) {
	case accountant.SampledWithoutReplacement:
		q := math.Min(1, e.Probability())
		return amplify(tradeoffEpsilon(e.Event, mathx.Down(delta/q)), q)
	case accountant.PoissonSampled:
		return amplify(tradeoffEpsilon(e.Event, mathx.Down(delta/e.Probability)), e.Probability)
	}
	p := accountant.PropertiesOf(e)
	switch {
	case p.NoiseMultiplier > 0 && delta >= 1:
		return 0
	case p.NoiseMultiplier > 0:
		return gaussianEpsilonAbove(p.NoiseMultiplier, delta)
	case !math.IsNaN(p.Rho):
		return zcdpEpsilon(p.Rho, delta)
	}
	return math.Inf(1)
}

func gaussianEpsilonAbove(sigma, delta float64) float64 {
	target, mu := mathx.Log(delta), 1/sigma
	f := func(eps float64) float64 { return mathx.LogGaussianDelta(sigma, eps) - target }
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
	return hi * (1 + 2e-12) // the accuracy of the closed form
}
