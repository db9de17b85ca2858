package typical

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/accountant/bayes"
	"github.com/pate-go/pate/internal/testkit"
)

func TestUnseenStepsAreWorstCases(t *testing.T) {
	train := dpsgd.Config{SamplingProbability: 0.1, NoiseMultiplier: 2, ClipNorm: 1, Steps: 10, LearningRate: 1}
	count := func(from int) []bayes.Figure {
		cfg := train
		f := testkit.Must((&Config{}).Follow(&cfg))
		for step := from; step <= 10; step++ {
			cfg.Distances.Observe(dpsgd.StepDistances{Step: step, Values: []float64{0.1, 0.2, 0.1, 0.15}})
		}
		return testkit.Must(f.Figures()).OfTypical
	}
	require.Equal(t, 0, count(1)[1].Unseen)
	require.Equal(t, 6, count(7)[1].Unseen)
	require.Equal(t, 10, count(7)[1].Steps)
	require.Equal(t, 10, count(11)[1].Unseen)
}
