// Command mixed uses one budget twice: for labels by PATE, and then for a model by DP-SGD. One ledger holds
// both charges, and one guarantee covers both releases.
//
//	go run ./examples/mixed
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/rng"
)

func main() {
	key, err := rng.NewKey()
	if err != nil {
		log.Fatal(err)
	}
	if err := spend(context.Background(), os.Stdout, key); err != nil {
		log.Fatal(err)
	}
}

// spend opens a ledger of mode Filter, so that the second charge may depend on the first release.
func spend(ctx context.Context, out io.Writer, key rng.Key) error {
	budget, err := ledger.New(ledger.Config{ // add a path to keep the ledger on disk
		Unit: "patient", Relation: accountant.AddRemove, Epsilon: 3, Delta: 1e-5, Mode: ledger.Filter,
	})
	if err != nil {
		return err
	}
	defer budget.Close()
	if err := labels(out, budget, key.Derive("labels")); err != nil {
		return err
	}
	spent, err := budget.Epsilon()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "labels cost epsilon %.2f\n", spent)
	if err := model(ctx, out, budget, key.Derive("model")); err != nil {
		return err
	}
	if spent, err = budget.Epsilon(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "both together: epsilon %.2f of 3, delta 1e-5\n", spent)
	return err
}

func labels(out io.Writer, budget *ledger.Ledger, key rng.Key) error {
	mechanism, err := aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: 30, Queries: 20})
	if err != nil {
		return err
	}
	charge, err := budget.Reserve(mechanism.Event())
	if err != nil {
		return err
	}
	session, err := mechanism.Start(charge, key)
	if err != nil {
		return err
	}
	var released []int
	for q := range 20 {
		histogram, err := aggregate.NewHistogram([][]int{{230, 10, 10}, {5, 240, 5}, {15, 15, 220}}[q%3])
		if err != nil {
			return err
		}
		answer, err := session.Ask(uint64(q), histogram)
		if err != nil {
			return err
		}
		released = append(released, answer.Label)
	}
	text, err := json.Marshal(released)
	if err != nil {
		return err
	}
	if err := budget.Commit(charge, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "labels %s\n", text)
	return err
}

func model(ctx context.Context, out io.Writer, budget *ledger.Ledger, key rng.Key) error {
	data := dpsgd.Data{X: blas32.General{Rows: 1000, Cols: 2, Stride: 2}, Y: make([]int, 1000)}
	for i := range data.Y { // the class is the larger feature
		data.Y[i] = i % 2
		data.X.Data = append(data.X.Data, float32(1-i%2), float32(i%2))
	}
	cfg := dpsgd.Config{SamplingProbability: 0.1, ClipNorm: 1, Steps: 50, LearningRate: 1}
	noise, err := budget.LeastNoise(ctx, func(noise float64) (accountant.Event, error) {
		cfg.NoiseMultiplier = noise
		return cfg.Event(), nil
	})
	if err != nil {
		return err
	}
	cfg.NoiseMultiplier = noise
	charge, err := budget.Reserve(cfg.Event())
	if err != nil {
		return err
	}
	model, err := nn.NewSoftmax(2, 2)
	if err != nil {
		return err
	}
	if _, err := dpsgd.Train(ctx, model, data, cfg, charge, key); err != nil {
		return err
	}
	parameters, err := json.Marshal(model.Parameters())
	if err != nil {
		return err
	}
	if err := budget.Commit(charge, parameters); err != nil {
		return err
	}
	classes := make([]int, 2)
	if err := model.Predict(ctx, classes, dpsgd.Data{X: blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 0, 0, 1}}}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "a model with noise %.2f predicts %v\n", noise, classes)
	return err
}
