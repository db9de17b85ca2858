package experiments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/trees"
)

// runUnprotected trains the models without protection and without teachers, so that no weak model is taken
// for the price of privacy.
func runUnprotected(ctx context.Context, c Config) ([]Row, error) {
	var rows []Row
	if c.wants(Majority) {
		row := Row{Method: Majority, Note: "always the most frequent class of the private rows"}
		c.scored(&row, slices.Repeat([]int{majority(c.Task.Private.Y, len(c.Task.Classes))}, c.Task.Test.Len()))
		rows = append(rows, row)
	}
	var x, test teachers.Matrix
	fit := func(method, note string, learner teachers.Learner) error {
		start := time.Now()
		c.Progress(Progress{Stage: method, Total: 1})
		if x.Rows == 0 {
			var err error
			if x, test, err = c.plainFeatures(ctx); err != nil {
				return err
			}
		}
		data := teachers.Dataset{X: x, Y: c.Task.Private.Y, Classes: len(c.Task.Classes)}
		model, err := learner.Fit(ctx, data, rand.New(c.Key.Derive(method).Stream()))
		if err != nil {
			return fmt.Errorf("experiments: %s: %w", method, err)
		}
		row := Row{Method: method, Note: note}
		if err := c.scoreModel(&row, model, test); err != nil {
			return err
		}
		row.Seconds = time.Since(start).Seconds()
		rows = append(rows, row)
		c.Progress(Progress{Stage: method, Done: 1, Total: 1})
		return nil
	}
	if c.wants(NonPrivate) && c.Task.Image.Rows == 0 {
		// The optimum itself: steps of fixed length stop short on columns of different kinds.
		if err := fit(NonPrivate, "logistic regression, the model of "+DPSGD+", at its optimum", penalised{c.Task.Private.Units}); err != nil {
			return nil, err
		}
	}
	if c.wants(BoostedTrees) {
		if err := fit(BoostedTrees, "boosted trees on all private rows", trees.Booster{}); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// plainFeatures returns the features of models without privacy: raw rows, or as --features demands.
func (c Config) plainFeatures(ctx context.Context) (x, test teachers.Matrix, err error) {
	e, err := features.Named(c.Features, c.Task.Image)
	if err != nil {
		return x, test, err
	}
	if x, err = c.features(ctx, c.Task.Private, e); err != nil {
		return x, test, err
	}
	test, err = c.features(ctx, c.Task.Test, e)
	return x, test, err
}

// features computes the features of rows. Raw rows are not copied.
func (c Config) features(ctx context.Context, set dataset.Set, e features.Extractor) (teachers.Matrix, error) {
	if _, raw := e.(features.Raw); raw {
		return set.X, nil
	}
	x, err := features.Apply(ctx, set, e, c.Workers)
	if err != nil {
		return x, fmt.Errorf("experiments: %w", err)
	}
	return x, nil
}

// majority returns the most frequent class, of equals the first.
func majority(labels []int, classes int) int {
	rows := scores.ClassRows(labels, classes)
	return slices.Index(rows, slices.Max(rows))
}
