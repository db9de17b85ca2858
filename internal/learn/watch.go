package learn

import (
	"context"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/rng"
)

// TrainingStep is one observed step of a training: the parameters before and after, and of each row in the sample the gradient
// before and after clipping.
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
	return watched.steps, nil
}

// watchedModel is a model that records its training.
type watchedModel struct {
	dpsgd.Model
	steps []TrainingStep
	open  bool
}

// begin opens a step if none is open: a step without records asks no worker.
func (m *watchedModel) begin() *TrainingStep {
	if !m.open {
		before := make([]float64, len(m.Parameters())) // 0 before the first step
		if n := len(m.steps); n > 0 {
			before = m.steps[n-1].After
		}
		m.steps, m.open = append(m.steps, TrainingStep{Before: before}), true
	}
	return &m.steps[len(m.steps)-1]
}

func (m *watchedModel) finish() {
	m.begin().After = doubles(m.Parameters())
	m.open = false
}

// Worker implements dpsgd.Model.
func (m *watchedModel) Worker() dpsgd.Worker {
	return &watchedWorker{Worker: m.Model.Worker(), model: m}
}

type watchedWorker struct {
	dpsgd.Worker
	model *watchedModel
}

// AddClipped implements dpsgd.Worker. The contribution of a row does not depend on the rows beside it.
func (w *watchedWorker) AddClipped(sum []float32, data dpsgd.Data, rows []int, clip dpsgd.Clip) dpsgd.Tally {
	s := w.model.begin()
	for _, row := range rows {
		alone := func(clip dpsgd.Clip) []float64 {
			g := make([]float32, len(sum))
			w.Worker.AddClipped(g, data, []int{row}, clip)
			return doubles(g)
		}
		s.Rows = append(s.Rows, row)
		s.Gradients, s.Clipped = append(s.Gradients, alone(dpsgd.FlatClip(math.Inf(1)))), append(s.Clipped, alone(clip))
	}
	return w.Worker.AddClipped(sum, data, rows, clip)
}

func doubles(xs []float32) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = float64(x)
	}
	return out
}
