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
	if ok, err := unfold(e, count, func(inner Event, n int64) error { return g.flatten(inner, n, rel) }); ok {
		return err
	}
	switch e := e.(type) {
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
	case KaryResponse:
		if rel != ReplaceOne {
			return &UnsupportedEventError{e, karyNeedsReplaceOne}
		}
		return g.fixed.add(guarantee{e.Epsilon, 0}, count)
	}
	if votes, ok := e.(LNMax); ok { // two noisy counts, each of half the epsilon
		twice, err := mul(count, 2)
		if err != nil {
			return err
		}
		return g.fixed.add(guarantee{mathx.Up(1 / votes.Scale), 0}, twice)
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
	if one, ok := guaranteeOf(inner); ok {
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
func guaranteeOf(e Event) (guarantee, bool) {
	switch e := e.(type) {
	case PureDP:
		return guarantee{e.Epsilon, 0}, true
	case RandomizedResponse:
		return guarantee{e.Epsilon, 0}, true
	case ExponentialMechanism:
		return guarantee{e.Epsilon, 0}, true
	case Laplace:
		return guarantee{mathx.Up(1 / e.NoiseMultiplier), 0}, true
	case DiscreteLaplace:
		return guarantee{mathx.Up(float64(e.Sensitivity) / e.Scale), 0}, true
	case LNMax:
		return guarantee{mathx.Up(2 / e.Scale), 0}, true
	case AboveThreshold:
		return guarantee{mathx.Up(e.Epsilon1 + e.Epsilon2), 0}, true
	case MStab:
		return guarantee{e.Epsilon, e.failure()}, true
	case StableSVT:
		return guarantee{e.epsilon(), e.failure()}, true
	case NonPrivate:
		return guarantee{math.Inf(1), 0}, true
	case WithFailure:
		one, ok := guaranteeOf(e.Event)
		if e.Delta > 0 {
			// Both parts of the law together: at most the sum is bad.
			one.delta = math.Min(1, sumUp(one.delta, e.Delta))
		}
		return one, ok
	}
	return guarantee{}, false
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
	switch e.(type) {
	case Gaussian, GNMax, Threshold, DiscreteGaussian, ZCDP:
		return true
	}
	return false
}

// tradeoffEpsilon returns the epsilon of one run at delta > 0: exact for
// continuous Gaussian noise (Balle, Wang 2018), by zCDP otherwise, amplified if sampled.
func tradeoffEpsilon(e Event, delta float64) float64 {
	if !(delta > 0) {
		return math.Inf(1)
	}
	gaussian := func(sigma float64) float64 {
		if delta >= 1 {
			return 0
		}
		return gaussianEpsilonAbove(sigma, delta)
	}
	switch e := e.(type) {
	case Gaussian:
		return gaussian(e.NoiseMultiplier)
	case GNMax: // a moved vote has L2 norm sqrt(2)
		if e.Discrete {
			return zcdpEpsilon(e.rho(), delta)
		}
		return gaussian(e.Sigma / math.Sqrt2)
	case Threshold:
		if e.Discrete {
			return zcdpEpsilon(e.rho(), delta)
		}
		return gaussian(e.Sigma)
	case DiscreteGaussian:
		return zcdpEpsilon(e.rho(), delta)
	case ZCDP:
		return zcdpEpsilon(e.Rho, delta)
	case SampledWithoutReplacement:
		q := math.Min(1, e.probability())
		return amplify(tradeoffEpsilon(e.Event, mathx.Down(delta/q)), q)
	case PoissonSampled:
		return amplify(tradeoffEpsilon(e.Event, mathx.Down(delta/e.Probability)), e.Probability)
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

func (e DiscreteGaussian) rho() float64 {
	r := e.Sensitivity / e.Sigma
	return mathx.Up(r * r / 2 * (1 + 4e-16))
}

func (e GNMax) rho() float64     { return DiscreteGaussian{e.Sigma, math.Sqrt2}.rho() }
func (e Threshold) rho() float64 { return DiscreteGaussian{e.Sigma, 1}.rho() }

func (e MStab) failure() float64 {
	log := math.Max(-800, -e.Epsilon*e.Threshold) // e^-800 is 0 already
	return math.Min(1, mathx.Up(0.5*math.Exp(log)*(1+4e-16*(2-log))))
}

func (e StableSVT) failure() float64 {
	return math.Min(1, mathx.Up(math.Exp(-(float64(e.Threshold)+1)/e.B1)*(1+1e-12)))
}

func (e StableSVT) epsilon() float64 {
	return mathx.Up((1/e.B1 + 2*float64(e.Failures)/e.B2) * (1 + 4e-16))
}
