package accountant

import (
	"math"
	"testing"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What was rewritten to something that costs no less lends no lower bound: these once claimed more than the
// truth.
func TestARewrittenEventHasNoLowerBound(t *testing.T) {
	lower := func(delta float64, e Event) Bound {
		return pldEpsilon(t, PLDConfig{}, delta, e)
	}
	// One sampled Laplace step, q = 1/2: P[loss > l] in closed form gives 0.59074.
	assert.LessOrEqual(t, lower(.01, PoissonSampled{.5, Laplace{1}}).Lower, 0.59074)
	// A sample of nearly everything costs at most everything.
	assert.LessOrEqual(t, lower(1e-5, Repeated{PoissonSampled{1 - 1e-12, LNMax{Scale: 2}}, 100}).Lower,
		lower(1e-5, Repeated{LNMax{Scale: 2}, 100}).Upper)
	// A group of two does not double the epsilon of any mechanism at this delta.
	for _, e := range []Event{Group{2, PureDP{1}}, Group{2, MStab{1, 20}}, Group{2, ExponentialMechanism{1}}} {
		assert.Zero(t, lower(.01, e).Lower, "%+v", e)
	}
	// What is exact keeps its lower bound.
	for _, e := range []Event{PoissonSampled{.1, Repeated{Gaussian{1}, 2}}, PoissonSampled{.1, RandomizedResponse{1}}, Group{2, Laplace{3}}, Group{3, Gaussian{9}}} {
		b := lower(1e-3, e)
		assert.InDelta(t, b.Upper, b.Lower, 1e-3, "%+v", e)
		assert.Positive(t, b.Lower)
	}
}

// A sample never costs more than all records, by any accountant.
func TestASampleCostsNoMoreThanAll(t *testing.T) {
	t.Parallel()
	for i, e := range []Event{ExponentialMechanism{1}, LNMax{Scale: 2}, LNMax{Scale: 2, Discrete: true}, Laplace{1}, DiscreteLaplace{2, 3},
		GNMax{Sigma: 4}, GNMax{Sigma: 4, Discrete: true}, Threshold{Sigma: 3, Discrete: true}, AboveThreshold{.5, .5, 1}, PureDP{10}, Gaussian{1}} {
		for j, q := range []float64{1e-3, .5, 1 - 1e-12} {
			if skipped(i+j, 3) {
				continue
			}
			for _, n := range []int64{1, 1000} {
				for name, start := range map[string]NewAccount{"rdp": RDPConfig{Relation: AddRemove}.NewAccount, "pld": PLDConfig{Relation: AddRemove, Gap: 0.05}.NewAccount} {
					sampled, err := epsilonOfEvent(t.Context(), start, Repeated{PoissonSampled{q, e}, n}, 1e-6)
					if err != nil {
						require.ErrorIs(t, err, ErrUnsupportedEvent)
						continue
					}
					all := testkit.Must(epsilonOfEvent(t.Context(), RDPConfig{Relation: AddRemove}.NewAccount, Repeated{e, n}, 1e-6))
					require.LessOrEqual(t, sampled.Upper, all.Upper*(1+1e-9)+1e-12, "%s: %+v x %d at q %v", name, e, n, q)
				}
			}
		}
	}
}

func TestAGroupInsideASampleIsRefused(t *testing.T) {
	group := Group{2, Gaussian{1}}
	for _, e := range []Event{PoissonSampled{.1, group}, PoissonSampled{.1, Composed{[]Event{Gaussian{1}, group}}}, TruncatedPoisson{.1, 50, 100, group}} {
		for name, a := range newAccounts(t, AddRemove) {
			require.ErrorIs(t, a.Compose(e, 1), ErrUnsupportedEvent, "%s: %+v", name, e)
		}
	}
	for name, a := range newAccounts(t, ReplaceOne) {
		require.ErrorIs(t, a.Compose(SampledWithoutReplacement{10, 100, group}, 1), ErrUnsupportedEvent, name)
	}
}

// Counts that overflow somewhere inside an accountant are refused when they are composed, not forgotten
// later.
func TestCountsThatOverflowInside(t *testing.T) {
	for _, events := range [][]Event{
		{Repeated{LNMax{Scale: 2e9}, 5e18}},
		{Repeated{LNMax{Scale: 2e9}, 3e18}, Repeated{LNMax{Scale: 2e9}, 3e18}},
		{Repeated{GNMax{Sigma: 5e4, Discrete: true}, 5e18}},
		{Repeated{PureDP{1e-19}, 9e18}, Repeated{RandomizedResponse{1e-19}, 9e18}},
	} {
		p, r := newPLD(t, PLDConfig{}), newRDP(t, RDPConfig{})
		var refused error
		for _, e := range events {
			require.NoError(t, r.Compose(e, 1))
			if err := p.Compose(e, 1); err != nil {
				refused = err
			}
		}
		if refused == nil {
			require.GreaterOrEqual(t, epsAt(t, p, 0).Upper, epsAt(t, r, 0).Upper*(1-1e-9), "%+v", events)
			continue
		}
		require.ErrorIs(t, refused, ErrInvalidEvent, "%+v", events)
	}
}

// The best of a Poisson number of runs, none included, of a mechanism with two outcomes: with fewer runs
// than one on average it is still as bad as one.
func TestPoissonSelectionOfFewRuns(t *testing.T) {
	for _, mean := range []float64{.01, .1, .5, .9, 1, 2} {
		const eps = 3.0
		p := 1 / (1 + math.Exp(-eps))       // of the better outcome
		best := func(p float64) []float64 { // better seen; runs, but not seen; none
			none := math.Exp(-mean)
			return []float64{-math.Expm1(-mean * p), math.Exp(-mean*p) - none, none}
		}
		world := lawPair{best(p), best(1 - p)}
		account := newRDP(t, RDPConfig{}, PoissonSelection{mean, PureDP{eps}})
		for _, at := range []float64{0, 1, 2.5, 3} {
			require.GreaterOrEqual(t, deltaAt(t, account, at).Upper, world.delta(at), "mean %v at %v", mean, at)
		}
		for _, a := range []float64{1.5, 2, 8, 40} {
			got, _ := rdpAt(t, a, PoissonSelection{mean, PureDP{eps}})
			require.GreaterOrEqual(t, got, testkit.Renyi(world.p, world.q, a), "mean %v order %v", mean, a)
		}
	}
}

func TestNoiseTooSmallForAFloat64(t *testing.T) {
	for _, e := range []Event{Gaussian{1e-200}, GNMax{Sigma: 1e-251}, Composed{[]Event{Gaussian{1e-200}, PureDP{1}}}} {
		p := newPLD(t, PLDConfig{}, e)
		assert.Equal(t, math.Inf(1), epsAt(t, p, 1e-5).Upper)
		assert.Equal(t, 1.0, deltaAt(t, p, 1).Upper)
	}
}

// A sensitivity is typed with a few digits.
func TestASensitivityNearARoot(t *testing.T) {
	exact := pldEpsilon(t, PLDConfig{}, 1e-6, Repeated{DiscreteGaussian{5, math.Sqrt2}, 10})
	typed := pldEpsilon(t, PLDConfig{}, 1e-6, Repeated{DiscreteGaussian{5, 1.4142}, 10})
	assert.InDelta(t, exact.Upper, typed.Upper, 1e-3)
}

func TestAHugeBatchIsAnsweredAtOnce(t *testing.T) {
	epsAt(t, newRDP(t, RDPConfig{}, TruncatedPoisson{.5, 2000000000010000000, 4e18, Gaussian{1}}), 1e-5)
}
