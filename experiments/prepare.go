package experiments

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/student"
	"github.com/pate-go/pate/teachers"
)

// dimensions returns the number of features of the teachers.
func (c Config) dimensions() int {
	shape := c.Task.Image
	if shape.Rows == 0 {
		shape = dataset.Shape{Rows: 1, Cols: c.Task.Private.X.Cols}
	}
	e, err := features.Named(c.Features, c.Task.Image)
	if err != nil { // which Validate says
		return 0
	}
	return e.Dim(shape)
}

// prepared is a task with its features.
type prepared struct {
	private, pool, test teachers.Matrix
	classes             int
	public              *student.Learner // what is learned from the pool without labels
	points              []point
}

func prepare(ctx context.Context, c Config) (prepared, error) {
	e, err := features.Named(c.Features, c.Task.Image)
	if err != nil {
		return prepared{}, err
	}
	p := prepared{classes: len(c.Task.Classes)}
	sets := []struct {
		set dataset.Set
		to  *teachers.Matrix
	}{{c.Task.Private, &p.private}, {c.Task.Pool, &p.pool}, {c.Task.Test, &p.test}}
	for i, s := range sets {
		c.Progress(Progress{Stage: "features", Done: i, Total: len(sets)})
		if *s.to, err = c.features(ctx, s.set, e); err != nil {
			return prepared{}, err
		}
	}
	c.Progress(Progress{Stage: "features", Done: len(sets), Total: len(sets)})
	if p.points, err = c.points(ctx); err != nil {
		return prepared{}, err
	}
	p.public, err = learnPool(ctx, c, p)
	return p, err
}

// points returns the comparison at each of its targets, or at the one that its pool is for.
func (c Config) points(ctx context.Context) ([]point, error) {
	var points []point
	for _, e := range c.Epsilons {
		if c.drawn != nil && c.drawn.epsilon != e {
			continue
		}
		answers, err := c.planAnswers(ctx, e)
		if err != nil {
			return nil, err
		}
		at := point{Config: c, epsilon: e, answers: answers}
		if at.marginals, err = at.planMarginals(ctx); err != nil {
			return nil, err
		}
		points = append(points, at)
	}
	return points, nil
}

// scoreModel predicts the classes of the test rows and fills in what that says of a method.
func (c Config) scoreModel(row *Row, model teachers.Classifier, test teachers.Matrix) error {
	predicted := make([]int, test.Rows)
	if err := model.Predict(predicted, test); err != nil {
		return fmt.Errorf("experiments: %w", err)
	}
	c.scored(row, predicted)
	scorer, ok := model.(teachers.Scorer)
	if !ok || len(c.Task.Classes) != 2 {
		return nil
	}
	of := dense.New(test.Rows, 2)
	if err := scorer.Scores(of, test); err != nil {
		return fmt.Errorf("experiments: %w", err)
	}
	row.AUROC = scores.AUROC(of, c.Task.Test.Y)
	return nil
}

// scored fills in what predictions of the test rows say of a method.
func (c Config) scored(row *Row, predicted []int) {
	row.Accuracy = scores.Accuracy(predicted, c.Task.Test.Y)
	row.Recall = scores.Recall(predicted, c.Task.Test.Y, len(c.Task.Classes))
}
