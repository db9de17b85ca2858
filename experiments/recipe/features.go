package recipe

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/experiments/features"
)

// prepared is a task with its features.
type prepared struct {
	train dpsgd.Data
	test  blas32.General
}

// prepare computes the features of a plan, and keeps them for the next one.
func (r *runner) prepare(ctx context.Context, name string) (prepared, error) {
	if r.features == name {
		return r.ready, nil
	}
	e, err := experiments.Extractor(name, r.Task.Image)
	if err != nil {
		return prepared{}, fmt.Errorf("recipe: %w", err)
	}
	p := prepared{train: dpsgd.Data{Y: r.Task.Private.Y}}
	for i, part := range []struct {
		to  *blas32.General
		set int
	}{{&p.train.X, 0}, {&p.test, 1}} {
		r.Progress(Progress{Stage: "features", Done: i, Total: 2})
		set := r.Task.Private
		if part.set == 1 {
			set = r.Task.Test
		}
		if *part.to, err = features.Apply(ctx, set, e, r.Workers); err != nil {
			return prepared{}, fmt.Errorf("recipe: %w", err)
		}
	}
	r.Progress(Progress{Stage: "features", Done: 2, Total: 2})
	r.features, r.ready = name, p
	return p, nil
}
