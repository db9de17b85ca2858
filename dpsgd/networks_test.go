package dpsgd_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

// TestNetworks trains networks by every way of clipping, and by views. The number of
// goroutines does not matter, to the last bit.
func TestNetworks(t *testing.T) {
	const cols, records = 12, 400
	rnd := rand.New(rand.NewPCG(4, 1))
	data := dpsgd.Data{X: blas32.General{Rows: records, Cols: cols, Stride: cols}, Y: make([]int, records)}
	for i := range data.Y {
		data.Y[i] = rnd.IntN(3)
		for j := range cols {
			v := float32(0.5 * rnd.NormFloat64())
			if j == data.Y[i] {
				v += 2
			}
			data.X.Data = append(data.X.Data, v)
		}
	}
	views := func(m dpsgd.Model) dpsgd.Model {
		a, err := dpsgd.Augment(m, 3, dpsgd.Shift{Planes: 1, Rows: 3, Cols: 4}, 1)
		require.NoError(t, err)
		return a
	}
	itself := func(m dpsgd.Model) dpsgd.Model { return m }
	for name, c := range map[string]struct {
		clipping dpsgd.Clipping
		norm     float64
		wrap     func(dpsgd.Model) dpsgd.Model
	}{
		"flat":             {dpsgd.Clipping{}, 1, itself},
		"per group":        {dpsgd.Clipping{PerGroup: true}, 1, itself},
		"group norms":      {dpsgd.Clipping{GroupNorms: []float64{0.8, 0.5}}, 0, itself},
		"automatic":        {dpsgd.Clipping{PerGroup: true, Stabilizer: 0.01}, 1, itself},
		"adaptive":         {dpsgd.Clipping{Adaptive: dpsgd.Adaptive{Quantile: 0.5, LearningRate: 0.2, CountNoise: 2}}, 1, itself},
		"views":            {dpsgd.Clipping{}, 1, views},
		"views, per group": {dpsgd.Clipping{PerGroup: true}, 1, views},
	} {
		t.Run(name, func(t *testing.T) {
			var want []float32
			for _, workers := range []int{1, 3} {
				m, err := nn.NewMLP(cols, []int{8}, 3, rand.New(rand.NewPCG(1, 1)))
				require.NoError(t, err)
				cfg := dpsgd.Config{
					SamplingProbability: 0.25, NoiseMultiplier: 1, Steps: 40, ClipNorm: c.norm, Clipping: c.clipping,
					LearningRate: 0.5, Optimizer: optim.Config{Momentum: 0.5}, Workers: workers, Public: data,
				}
				var last *dpsgd.Score
				cfg.Observe = func(m dpsgd.Metrics) { last = m.Public }
				r := testledger.Reserve(t, accountant.AddRemove, cfg.Event())
				_, err = dpsgd.Train(t.Context(), c.wrap(m), data, cfg, r, rng.SeedKey(2))
				require.NoError(t, err)
				if want == nil {
					want = slices.Clone(m.Parameters())
				}
				require.Equal(t, want, m.Parameters())
				require.Greater(t, last.Accuracy, 0.9)
				require.Less(t, last.Loss, 0.5)
			}
		})
	}
}
