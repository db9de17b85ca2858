package controls

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/testkit"
)

// small is a short training on a twentieth of MNIST, with momentum and a falling rate as the recipe has,
// and an epsilon of 2.3 at the delta of canaries.
func small() trained {
	t := mnist()
	t.share, t.canaries, t.guesses, t.epsilon, t.delta = 0.05, 3000, 300, 1.6, 1e-5
	t.train = func(recipe.Shape) dpsgd.Config {
		return dpsgd.Config{SamplingProbability: 0.5, ClipNorm: 1, Steps: 20, LearningRate: 0.5,
			Schedule:  dpsgd.Schedule{Shape: dpsgd.Linear, Final: 0.1},
			Optimizer: optim.Config{Momentum: 0.9}}
	}
	return t
}

// TestCanariesAmongImages: the model as shipped is not refuted, with a quarter of the noise it is. The
// false-alarm rate is 1e-4; the seed is fixed.
func TestCanariesAmongImages(t *testing.T) {
	if testkit.Race {
		t.Skip("one computation of a minute under the race detector; the trainer's own tests run there")
	}
	shipped, broken := small(), small()
	broken.noise = 0.25
	results, err := Run(context.Background(), []Target{shipped.target(), broken.target()}, testOptions())
	require.NoError(t, err)
	require.False(t, results[0].Finding.Refuted(), "%+v", results[0].Finding)
	require.Positive(t, results[0].Finding.Epsilon, "the auditor is blind: %+v", results[0].Finding)
	require.True(t, results[1].Finding.Refuted(), "%+v", results[1].Finding)
}
