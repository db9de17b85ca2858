package dpsgd_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

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
	for name, c := range map[string]struct {
		clipping dpsgd.Clipping
		norm     float64
	}{
		"flat":                   {dpsgd.Clipping{}, 1},
		"per group":              {dpsgd.Clipping{PerGroup: true}, 1},
		"group norms":            {dpsgd.Clipping{GroupNorms: []float64{0.8, 0.5}}, 0},
		"automatic":              {dpsgd.Clipping{PerGroup: true, Stabilizer: 0.01}, 1},
		"adaptive":               {dpsgd.Clipping{Adaptive: dpsgd.Adaptive{Quantile: 0.5, LearningRate: 0.2, CountNoise: 2}}, 1},
		"views":                  {dpsgd.Clipping{}, 1},
		"views, per group":       {dpsgd.Clipping{PerGroup: true}, 1},
		"convolution":            {dpsgd.Clipping{}, 1},
		"convolution, per group": {dpsgd.Clipping{PerGroup: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var want []float32
			for _, workers := range []int{1, 3} {
				m, err := nn.NewMLP(cols, []int{8}, 3, rand.New(rand.NewPCG(1, 1)))
				convolution := strings.HasPrefix(name, "convolution")
				if convolution {
					m, err = nn.New(nn.Image(3, 4, 1), nn.CrossEntropy,
						nn.Conv2D{Filters: 4, Kernel: 2, Stride: 1}, nn.GroupNorm{Groups: 2}, nn.ReLU{}, nn.MaxPool{Kernel: 2, Stride: 1},
						nn.Flatten{}, nn.Dense{Units: 3, Weights: nn.Glorot})
					m.Init(rand.New(rand.NewPCG(1, 7)))
				}
				require.NoError(t, err)
				var trained dpsgd.Model = m
				if strings.HasPrefix(name, "views") {
					trained = testkit.Must(dpsgd.Augment(m, 3, dpsgd.Shift{Planes: 1, Rows: 3, Cols: 4}, 1))
				}
				cfg := dpsgd.Config{
					SamplingProbability: 0.25, NoiseMultiplier: 1, Steps: 40, ClipNorm: c.norm, Clipping: c.clipping,
					LearningRate: 0.5, Optimizer: optim.Config{Momentum: 0.5}, Workers: workers, Public: data,
				}
				var last *dpsgd.Score
				cfg.Observe = func(m dpsgd.Metrics) { last = m.Public }
				r := testledger.Reserve(t, accountant.AddRemove, cfg.Event())
				require.NoError(t, testkit.Err(dpsgd.Train(t.Context(), trained, data, cfg, r, rng.SeedKey(2))))
				if want == nil {
					want = slices.Clone(m.Parameters())
				}
				require.Equal(t, want, m.Parameters())
				if !convolution {
					require.Greater(t, last.Accuracy, 0.9)
					require.Less(t, last.Loss, 0.5)
				}
			}
		})
	}
}

func ExampleTrain() {
	// Make 1,000 records with two features. The class is the larger feature.
	data := dpsgd.Data{X: blas32.General{Rows: 1000, Cols: 2, Stride: 2}, Y: make([]int, 1000)}
	for i := range data.Y {
		data.Y[i] = i % 2
		data.X.Data = append(data.X.Data, float32(1-i%2), float32(i%2))
	}
	cfg := dpsgd.Config{
		SamplingProbability: 0.1,
		NoiseMultiplier:     2,
		ClipNorm:            1,
		Steps:               50,
		LearningRate:        1,
	}
	budget, err := ledger.New(ledger.Config{
		Unit: "record", Relation: accountant.AddRemove, Epsilon: 3, Delta: 1e-5,
	})
	if err != nil {
		panic(err)
	}
	reservation, err := budget.Reserve(cfg.Event())
	if err != nil {
		panic(err)
	}
	model, err := nn.NewSoftmax(2, 2)
	if err != nil {
		panic(err)
	}
	result, err := dpsgd.Train(context.Background(), model, data, cfg, reservation, rng.SeedKey(1))
	if err != nil {
		panic(err)
	}
	classes := make([]int, 2)
	if err := model.Predict(context.Background(), classes, dpsgd.Data{X: blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 0, 0, 1}}}); err != nil {
		panic(err)
	}
	fmt.Println(classes, "releasable:", result.Releasable)
	// Output: [0 1] releasable: false
}
