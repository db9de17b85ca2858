package recipe

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dpsgd"
)

// TestNoiseIsForTheSamplingThatRuns checks that noise is chosen for the event of the
// sampling, and that what is claimed for it is the accountant's answer.
func TestNoiseIsForTheSamplingThatRuns(t *testing.T) {
	to := claim{delta: 1e-5}
	for _, scheme := range []dpsgd.Scheme{dpsgd.Allocation} { // balls in bins take longer
		p := Plan{Epsilon: 2, Recipe: Recipe{Features: "raw", Train: dpsgd.Config{
			Steps: 14, ClipNorm: 1, LearningRate: 1, Sampling: dpsgd.Sampling{Scheme: scheme, EpochSteps: 7},
		}}}
		noise, err := to.calibrate(t.Context(), p)
		require.NoError(t, err)
		events := p.events(noise)
		require.Equal(t, []accountant.Event{p.train(noise).Event()}, events)
		bound, err := to.epsilonOf(t.Context(), events[0])
		require.NoError(t, err)
		require.LessOrEqual(t, bound.Upper, 2.0)
		require.Greater(t, bound.Upper, 1.99)
		account, err := accountant.NewPLD(accountant.PLDConfig{Relation: accountant.AddRemove})
		require.NoError(t, err)
		require.NoError(t, account.Compose(events[0], 1))
		same, err := account.Epsilon(context.Background(), 1e-5*(1-latticeShare))
		require.NoError(t, err)
		require.Equal(t, same.Upper, bound.Upper)
	}
}
