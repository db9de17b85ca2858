package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/aggregate"
)

// TestForLabels: a plan is right often enough in every world it must hold in, and keeps
// the goal; too few teachers are told what would do.
func TestForLabels(t *testing.T) {
	goal := Goal{Epsilon: 3, Delta: 1e-5, MinAccuracy: 0.9}
	p := Public{Teachers: 80, Classes: 3, Queries: 60, Accuracy: 0.85}
	all := func(aggregate.Setting) (bool, error) { return true, nil }
	a, err := ForLabels(t.Context(), p, goal, all)
	require.NoError(t, err)
	require.LessOrEqual(t, a.Epsilon, goal.Epsilon)
	require.LessOrEqual(t, a.Queries, p.Queries)
	worlds, err := p.worlds()
	require.NoError(t, err)
	require.Len(t, worlds, 2, "teachers who err together, and who do not")
	for _, world := range worlds {
		e, err := Evaluate(t.Context(), world, a.Setting, goal.Delta)
		require.NoError(t, err)
		require.GreaterOrEqual(t, e.Accuracy(), goal.MinAccuracy)
	}
	again, err := ForLabels(t.Context(), p, goal, all)
	require.NoError(t, err)
	require.True(t, a.Equal(again.Setting), "the same numbers give the same plan")

	_, err = ForLabels(t.Context(), Public{Teachers: 4, Classes: 3, Queries: 20, Accuracy: 0.9}, Goal{Epsilon: 0.5, Delta: 1e-5, MinAccuracy: 0.9}, all)
	var none *NoPlanError
	require.ErrorAs(t, err, &none)
	require.ErrorIs(t, err, ErrNoPlan)
	require.Greater(t, none.Epsilon, 0.5)
	require.Greater(t, none.Teachers, 4)
}

// TestClearlyRight: noise that drowns the votes leaves a guess, little noise certainty.
func TestClearlyRight(t *testing.T) {
	for _, c := range []struct {
		sigma            float64
		clear, unanimous float64
	}{{1e6, 0.1, 0.1}, {0.5, 1, 1}, {166.47, 0.16, 0.2}} {
		s := aggregate.Setting{Mechanism: GNMax, Queries: 1}.With("sigma", c.sigma)
		clear, unanimous, err := ClearlyRight(s, 60, 10)
		require.NoError(t, err)
		require.InDelta(t, c.clear, clear, 0.04)
		require.InDelta(t, c.unanimous, unanimous, 0.06)
	}
}
