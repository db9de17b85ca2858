package accountant

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Discrete Laplace noise of large scale and sensitivity from 2 on: an adversarial
// review found a certified epsilon of 0 here, where the divergence of one release is
// below the rounding of a sum that is nearly one.
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
		r := newRDP(t, RDPConfig{})
		require.NoError(t, r.Compose(DiscreteLaplace{g.Scale, g.Sensitivity}, g.Count))
		b, err := r.Epsilon(context.Background(), golden.Delta)
		require.NoError(t, err)
		require.GreaterOrEqual(t, b.Upper, g.Epsilon, "%+v", g)
		require.InEpsilon(t, g.Epsilon, b.Upper, 1e-10, "%+v", g)
		p, err := NewPLD(PLDConfig{Relation: AddRemove, Gap: 0.1, MaxMemory: 2 << 20})
		require.NoError(t, err)
		require.NoError(t, p.Compose(DiscreteLaplace{g.Scale, g.Sensitivity}, g.Count))
		b, err = p.Epsilon(context.Background(), golden.Delta)
		require.NoError(t, err)
		require.Greater(t, b.Upper, 0.9*g.Epsilon, "%+v", g) // what PLD saves at most here
	}
}
