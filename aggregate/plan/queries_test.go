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
