package accountant

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Discrete Laplace noise of large scale and sensitivity from 2 on: an adversarial review found a certified
// epsilon of 0 here, where the divergence of one release is below the rounding of a sum that is nearly one.
func TestDiscreteLaplaceAtLargeScales(t *testing.T) {
	var golden struct {
		Delta      float64
		Divergence []struct {
			Scale, Order, Value float64
			Sensitivity         int64
		}
		Composed []struct {
			Scale, Order, Epsilon float64
			Sensitivity, Count    int64
		}
	}
	data, err := os.ReadFile("testdata/discrete_laplace.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &golden))
	require.NotEmpty(t, golden.Divergence)
	require.NotEmpty(t, golden.Composed)
	for _, g := range golden.Divergence {
		require.InEpsilon(t, g.Value, discreteLaplaceCurve(g.Scale, g.Sensitivity)(g.Order), 1e-13, "%+v", g)
	}
	for _, g := range golden.Composed {
		r := newRDP(t, RDPConfig{}, Repeated{DiscreteLaplace{g.Scale, g.Sensitivity}, g.Count})
		b := epsAt(t, r, golden.Delta)
		require.GreaterOrEqual(t, b.Upper, g.Epsilon, "%+v", g)
		require.InEpsilon(t, g.Epsilon, b.Upper, 1e-10, "%+v", g)
		p := newPLD(t, PLDConfig{Relation: AddRemove, Gap: 0.1, MaxMemory: 2 << 20}, Repeated{DiscreteLaplace{g.Scale, g.Sensitivity}, g.Count})
		b = epsAt(t, p, golden.Delta)
		require.Greater(t, b.Upper, 0.9*g.Epsilon, "%+v", g) // what PLD saves at most here
	}
}
