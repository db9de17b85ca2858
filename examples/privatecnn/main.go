// Command privatecnn trains a small convolutional network by DP-SGD on synthetic images under a privacy
// budget. It saves the model beside the ledger.
//
//	go run ./examples/privatecnn FOLDER
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: privatecnn FOLDER")
	}
	if err := train(context.Background(), os.Stdout, os.Args[1], nil); err != nil {
		log.Fatal(err)
	}
}

// train makes no releasable result if seed is not nil.
func train(ctx context.Context, out io.Writer, folder string, seed *uint64) error {
	model, err := nn.New(nn.Image(8, 8, 1), nn.CrossEntropy,
		nn.Conv2D{Filters: 4, Kernel: 3, Stride: 1}, nn.ReLU{}, nn.MaxPool{Kernel: 2, Stride: 2},
		nn.Flatten{}, nn.Dense{Units: 2, Weights: nn.Glorot})
	if err != nil {
		return err
	}
	model.Init(rand.New(rand.NewPCG(1, 2))) // the initial parameters are public
	trained, err := pate.Train(ctx, model, strokes(2000),
		dpsgd.Config{SamplingProbability: 0.05, ClipNorm: 1, Steps: 40, LearningRate: 0.5},
		pate.TrainOptions{
			Budget: pate.Budget{Epsilon: 2, Delta: 1e-5, Ledger: filepath.Join(folder, "run.jsonl"), Seed: seed},
			Out:    filepath.Join(folder, "strokes.model"),
		})
	if err != nil {
		return err
	}
	test, err := model.Evaluate(ctx, strokes(500)) // the test images are public
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "right %.0f %%; noise %.2f; epsilon %.2f; may be released: %v\n",
		100*test.Accuracy, trained.NoiseMultiplier, trained.Epsilon, trained.Releasable)
	return err
}

func strokes(n int) dpsgd.Data {
	data := dpsgd.Data{X: blas32.General{Rows: n, Cols: 64, Stride: 64, Data: make([]float32, 64*n)}, Y: make([]int, n)}
	rnd := rand.New(rand.NewPCG(uint64(n), 3))
	for i := range data.Y {
		data.Y[i] = i % 2
		at, picture := rnd.IntN(8), data.X.Data[64*i:64*(i+1)]
		for k := range 8 {
			picture[[]int{8*at + k, 8*k + at}[i%2]] = 1
		}
	}
	return data
}
