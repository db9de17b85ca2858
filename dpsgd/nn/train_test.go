package nn_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

// TestTrainingDoesNotDependOnTheNumberOfWorkers compares to the last bit, clipped as a
// whole and layer by layer.
func TestTrainingDoesNotDependOnTheNumberOfWorkers(t *testing.T) {
	data := benchData(300, 144)
	for _, clipping := range []dpsgd.Clipping{{}, {PerGroup: true}} {
		var want []float32
		for _, workers := range []int{1, 2, 5} {
			model, err := nn.New(nn.Image(12, 12, 1), nn.CrossEntropy,
				nn.Conv2D{Filters: 4, Kernel: 3, Stride: 2}, nn.GroupNorm{Groups: 2}, nn.ReLU{}, nn.MaxPool{Kernel: 2, Stride: 1},
				nn.Flatten{}, nn.Dense{Units: 10, Weights: nn.Glorot})
			require.NoError(t, err)
			model.Init(rand.New(rand.NewPCG(1, 7)))
			cfg := dpsgd.Config{
				SamplingProbability: 0.5, NoiseMultiplier: 2, ClipNorm: 1, Steps: 4, LearningRate: 0.1,
				Workers: workers, Clipping: clipping,
			}
			r := testledger.Reserve(t, accountant.AddRemove, cfg.Event())
			_, err = dpsgd.Train(t.Context(), model, data, cfg, r, rng.SeedKey(3))
			require.NoError(t, err)
			if want == nil {
				want = model.Parameters()
			}
			require.Equal(t, want, model.Parameters(), "%d workers", workers)
		}
	}
}
