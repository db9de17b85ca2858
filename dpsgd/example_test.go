package dpsgd_test

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/rng"
)

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
	if err := model.Predict(context.Background(), classes, blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 0, 0, 1}}); err != nil {
		panic(err)
	}
	fmt.Println(classes, "releasable:", result.Releasable)
	// Output: [0 1] releasable: false
}
