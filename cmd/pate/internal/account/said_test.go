package account

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
)

func said(t *testing.T, delta float64, events ...accountant.Event) map[string]saidAs {
	ways, err := saidWays(t.Context(), accountant.Schedule{Relation: accountant.AddRemove, Events: events}, delta)
	require.NoError(t, err)
	by := map[string]saidAs{}
	for i, w := range ways {
		require.GreaterOrEqual(t, float64(w.Epsilon), float64(ways[0].Epsilon)*(1-1e-3), "%v: no way says less than the curve", w)
		require.GreaterOrEqual(t, w.TPR, ways[0].TPR*(1-1e-2), "%v", w)
		require.GreaterOrEqual(t, w.TPR, saidAt)
		require.NotContains(t, by, w.As, "%d", i)
		by[w.As] = w
	}
	return by
}

// TestWaysThatLoseNothing: where a way to say a run is exact, what follows from it alone is what the
// privacy loss distribution gives.
func TestWaysThatLoseNothing(t *testing.T) {
	response := said(t, 1e-3, accountant.RandomizedResponse{Epsilon: 1.5})
	curve, pure := response["a trade-off curve"], response["a pure epsilon"]
	require.InDelta(t, float64(curve.Epsilon), float64(pure.Epsilon), 1e-3)
	require.InDelta(t, curve.TPR, pure.TPR, 1e-4)
	require.Less(t, float64(pure.Epsilon), 1.5, "at a delta above 0 a pure epsilon says less than itself")

	gauss := said(t, 1e-5, accountant.Repeated{Event: accountant.Gaussian{NoiseMultiplier: 20}, Count: 300})
	require.Equal(t, "nothing: it is Gaussian noise", gauss["mu of Gaussian DP"].Loss)
	require.InEpsilon(t, float64(gauss["a trade-off curve"].Epsilon), float64(gauss["mu of Gaussian DP"].Epsilon), 1e-9)
	require.InEpsilon(t, gauss["a trade-off curve"].TPR, gauss["mu of Gaussian DP"].TPR, 1e-9)
	require.Greater(t, gauss["(epsilon, delta)"].TPR, 2*gauss["a trade-off curve"].TPR, "one pair forgets all other deltas")
	require.Greater(t, float64(gauss["rho of zCDP"].Epsilon), 1.03*float64(gauss["a trade-off curve"].Epsilon))
	require.NotContains(t, gauss, "a pure epsilon")

	fails := said(t, 1.0001e-3, accountant.WithFailure{Event: accountant.PureDP{Epsilon: 1}, Delta: 1e-3})
	require.InDelta(t, fails["a trade-off curve"].TPR, fails["(epsilon, delta)"].TPR, 2e-4, "a pair is exact for what keeps no more")
	sampled := said(t, 1e-5, accountant.PoissonSampled{Probability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 1}})
	require.NotContains(t, sampled, "rho of zCDP")
}

func TestGapsAreAboveTheLeast(t *testing.T) {
	for _, events := range [][]accountant.Event{
		{accountant.Repeated{Event: accountant.GNMax{Sigma: 40, Discrete: true}, Count: 200}},
		{accountant.Repeated{Event: accountant.PureDP{Epsilon: 0.1}, Count: 50}},
		{accountant.ZCDP{Rho: 0.3}},
		{accountant.NonPrivate{}},
	} {
		e, err := explain(t.Context(), accountant.RDPConfig{Relation: accountant.AddRemove}, accountant.Schedule{Relation: accountant.AddRemove, Events: events}, 1e-5)
		require.NoError(t, err)
		require.Len(t, e.Gaps, 8)
		least := math.Inf(1)
		for _, g := range e.Gaps {
			if g.Epsilon != nil {
				least = min(least, float64(*g.Epsilon))
			}
		}
		for _, g := range e.Gaps {
			switch {
			case g.Epsilon == nil:
				require.NotEmpty(t, g.Unsupported)
			case math.IsInf(least, 1):
				require.Nil(t, g.Above)
			default:
				require.Equal(t, float64(*g.Epsilon)-least, float64(*g.Above))
				require.Equal(t, g.Accountant == e.Tightest, *g.Above == 0 && g.Accountant == e.Tightest)
			}
		}
	}
}
