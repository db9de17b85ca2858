package plan_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/rng"
)

// A plan for a few queries, made on many examples, is for a few queries, and expects
// of each what those many say.
func TestFewQueriesOnManyExamples(t *testing.T) {
	examples, err := plan.Simulation{Teachers: 60, Classes: 3, Queries: 400, Accuracy: 0.83}.Examples(rng.SeedKey(1))
	require.NoError(t, err)
	goal := plan.Goal{Epsilon: 2, Delta: 1e-5, Queries: 5}
	found, err := plan.Alternatives(context.Background(), examples, goal)
	require.NoError(t, err)
	for _, a := range found {
		require.LessOrEqual(t, a.Queries, 5)
		require.LessOrEqual(t, a.ExpectedCorrect, 5.0)
		require.LessOrEqual(t, a.Epsilon, 2.0)
		again, err := plan.Evaluate(context.Background(), examples, a.Setting, accountant.ByAuto, goal.Delta)
		require.NoError(t, err)
		require.Equal(t, again, a)
	}
	require.Equal(t, 5, found[0].Queries)
	goal.Queries = -1
	_, err = plan.Alternatives(context.Background(), examples, goal)
	require.ErrorContains(t, err, "Queries")
}

// A steady plan asks what the budget pays for at the share of noise, be there more queries
// or fewer, and leaves no budget. Where that is not right often enough it is the other plan.
func TestSteadyPlans(t *testing.T) {
	goal := plan.Goal{Epsilon: 2, Delta: 1e-5, MinAccuracy: 0.9, Steady: true}
	target := accountant.Target{Epsilon: goal.Epsilon, Delta: goal.Delta}
	budget := func(event func(float64) (accountant.Event, error)) (float64, error) {
		noise, _, err := accountant.CalibrateNoise(t.Context(), accountant.AutoConfig{Relation: accountant.AddRemove}.NewAccount, target, event)
		return noise, err
	}
	affordable, err := plan.MaxCount(t.Context(), 100, target)
	require.NoError(t, err)
	none, err := plan.MaxCount(t.Context(), 2, accountant.Target{Epsilon: 0.01, Delta: 1e-9})
	require.NoError(t, err)
	require.Zero(t, none)
	for pool, asked := range map[int]int{60: int(affordable), 20: 20} {
		a, err := plan.ForLabels(context.Background(), plan.Public{Teachers: 100, Classes: 10, Queries: pool}, goal, budget)
		require.NoError(t, err)
		require.Equal(t, plan.GNMax, a.Mechanism)
		require.Equal(t, asked, a.Queries)
		require.LessOrEqual(t, a.Values["sigma"], 0.2*100)
		require.LessOrEqual(t, a.Epsilon, goal.Epsilon)
		require.Greater(t, a.Epsilon, 0.99*goal.Epsilon)
	}
	goal.MinAccuracy = 0.995
	strict, err := plan.ForLabels(context.Background(), plan.Public{Teachers: 40, Classes: 3, Queries: 30}, goal, budget)
	require.NoError(t, err)
	goal.Steady = false
	other, err := plan.ForLabels(context.Background(), plan.Public{Teachers: 40, Classes: 3, Queries: 30}, goal, budget)
	require.NoError(t, err)
	require.Equal(t, other, strict)
}
