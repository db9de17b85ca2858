package learn

import (
	"context"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/rng"
)

// TrainingStep is one step of a training that was watched: the parameters before and after,
// and of each row in the sample the gradient before and after clipping.
type TrainingStep struct {
	Before, After      []float64
	Rows               []int
	Gradients, Clipped [][]float64
}

// Watch trains a model and returns every step. What it returns is private.
func Watch(model dpsgd.Model, data dpsgd.Data, cfg dpsgd.Config, key rng.Key) ([]TrainingStep, error) {
	watched := &watchedModel{Model: model}
	cfg.Observe = func(dpsgd.Metrics) { watched.finish() }
	paid, err := Paid(cfg.Event(), accountant.AddRemove)
	if err != nil {
		return nil, err
	}
	if _, err := dpsgd.Train(context.Background(), watched, data, cfg, paid, key); err != nil {
		return nil, invalid("%w", err)
	}
	out := make([]TrainingStep, len(watched.steps))
	for i, s := range watched.steps {
		out[i] = TrainingStep{Before: s.before, After: s.after, Rows: s.rows, Gradients: s.gradients, Clipped: s.clipped}
	}
	return out, nil
}
