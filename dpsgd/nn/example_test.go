package nn_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/rng"
)

// Train your own convolutional network privately: build it from layers, set how it is trained, charge for all steps, train.
// A release needs NewKey instead of SeedKey.
func Example() {
	data := strokes(2000)
	model, err := nn.New(nn.Image(8, 8, 1), nn.CrossEntropy,
		nn.Conv2D{Filters: 4, Kernel: 3, Stride: 1}, nn.ReLU{}, nn.MaxPool{Kernel: 2, Stride: 2},
		nn.Flatten{}, nn.Dense{Units: 2, Weights: nn.Glorot})
	check(err)
	model.Init(rand.New(rand.NewPCG(1, 2)))
	cfg := dpsgd.Config{SamplingProbability: 0.05, NoiseMultiplier: 1.5, ClipNorm: 1, Steps: 40, LearningRate: 0.5}
	budget, err := ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5})
	check(err)
	charge, err := budget.Reserve(cfg.Event())
	check(err)
	result, err := dpsgd.Train(context.Background(), model, data, cfg, charge, rng.SeedKey(1))
	check(err)
	public, err := model.Evaluate(context.Background(), strokes(200))
	check(err)
	spent, err := budget.Epsilon()
	check(err)
	fmt.Printf("right: more than 9 of 10, %v; epsilon below 2, %v; releasable, %v\n", public.Accuracy > 0.9, spent < 2, result.Releasable)
	// Output: right: more than 9 of 10, true; epsilon below 2, true; releasable, false
}

// strokes makes n pictures of 8 x 8 with a horizontal or a vertical stroke.
func strokes(n int) dpsgd.Data {
	data := dpsgd.Data{X: blas32.General{Rows: n, Cols: 64, Stride: 64, Data: make([]float32, 64*n)}, Y: make([]int, n)}
	rnd := rand.New(rand.NewPCG(uint64(n), 3))
	for i := range data.Y {
		data.Y[i] = i % 2
		at, row := rnd.IntN(8), data.X.Data[64*i:64*(i+1)]
		for k := range 8 {
			row[[]int{8*at + k, 8*k + at}[i%2]] = 1
		}
	}
	return data
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
