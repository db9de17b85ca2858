package experiments

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/trees"
)

func runDPSGD(ctx context.Context, c Config) ([]Row, error) {
	task := c.Task
	var err error
	if task.Pool, err = task.Pool.Slice(0, 0); err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	shape := c.shape()
	var plans []recipe.Plan
	if c.wants(DPSGD) {
		for _, e := range c.Epsilons {
			plans = append(plans, recipe.Plan{Recipe: recipe.Default(shape, c.named, recipe.Linear, e), Epsilon: e})
		}
	}
	if c.wants(NonPrivate) && c.Task.Image.Rows > 0 {
		plans = append(plans, recipe.Plan{Recipe: recipe.Default(shape, c.named, recipe.Linear, math.Inf(1)), NonPrivate: true})
	}
	if len(plans) == 0 {
		return nil, nil
	}
	if c.Spare != nil {
		defer c.Spare(c.Task)()
	}
	result, err := recipe.Run(ctx, recipe.Config{
		Task: task, Delta: c.Delta, Plans: plans, Seeds: c.Seeds, Unit: c.Unit, Key: c.Key, Dir: c.Dir, Prefix: FileName(DPSGD, 0, false) + "-",
		Workers: c.Workers, Cache: c.Cache, Typical: c.Typical,
		Progress: func(p recipe.Progress) {
			c.Progress(Progress{Stage: "dpsgd: " + p.Stage, Done: p.Done, Total: p.Total})
		},
	})
	if err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	rows := make([]Row, len(plans))
	for i, plan := range plans {
		if rows[i], err = c.modelRow(plan, result.Rows[i]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (c Config) shape() recipe.Shape {
	s := recipe.ShapeOf(c.Task)
	if s.Image.Rows > 0 || c.Task.Ranges != nil {
		return s
	}
	return s.Seen(c.Task.Pool.X)
}

func (c Config) modelRow(plan recipe.Plan, m recipe.Row) (Row, error) {
	row := Row{
		Method: DPSGD, TargetEpsilon: plan.Epsilon, Epsilon: m.Epsilon, Runs: m.Runs, Releasable: m.Releasable,
		Accuracy: m.Accuracy, SD: m.SD, Recall: m.Recall, AUROC: m.AUROC, AUROCSD: m.AUROCSD, Steps: m.Steps,
		Probability: m.Probability, NoiseMultiplier: m.Noise, Seconds: m.Seconds, Account: m.Account,
		Note: "on " + m.Features, Figures: m.Figures, predicted: m.Predicted,
	}
	if plan.NonPrivate {
		row.Method, row.Note = NonPrivate, "the model of "+DPSGD+" without clipping and noise"
	}
	if c.Task.Ranges != nil {
		row.Note += ", scaled by the declared ranges"
	}
	if c.Task.Grouped {
		row.Note += ", trained on one row per " + c.Unit
	}
	if m.Account == nil {
		return row, nil
	}
	if c.Curves && len(c.Epsilons) == 1 {
		for _, p := range m.Curve {
			row.Curve = append(row.Curve, Point{Epsilon: p.Epsilon, Accuracy: p.Accuracy})
		}
	}
	bound, err := epsilonOf(accountant.Composed{Events: m.Account.Events}, c.Delta)
	if err != nil {
		return row, err
	}
	row.Charged, err = shares(m.Account.Events, bound.Order)
	return row, err
}

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
		// The optimum itself: a fixed step size stops short of it on columns of different kinds.
		if err := fit(NonPrivate, "logistic regression on the columns, at its optimum", penalised{c.Task.Private.Units}); err != nil {
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

func (c Config) features(ctx context.Context, set dataset.Set, e features.Extractor) (teachers.Matrix, error) {
	if _, raw := e.(features.Raw); raw {
		whole, err := set.Slice(0, set.Len())
		return whole.X, wrapped(err)
	}
	x, err := features.Apply(ctx, set, e, c.Workers)
	return x, wrapped(err)
}

func majority(labels []int, classes int) int {
	rows := scores.ClassRows(labels, classes)
	return slices.Index(rows, slices.Max(rows))
}

// The penalty is one over the number of rows, unless a larger penalty predicts held-out rows significantly
// better. With many columns and classes, the smallest penalty overfits, and the result would understate the
// accuracy without privacy.

type penalised struct {
	units []string // of the rows; all rows of a unit are held out together
}

const (
	linearIterations = 300    // enough for logistic regression on tables to converge
	penaltyRows      = 10_000 // largest number of rows used to choose a penalty
	penaltyHeld      = 5      // one in penaltyHeld units is held out
)

func penalties() []float64 { return []float64{1, 30, 300} }

func (p penalised) Fit(ctx context.Context, data teachers.Dataset, rnd *rand.Rand) (teachers.Classifier, error) {
	penalty, err := p.choose(ctx, data, rnd)
	if err != nil {
		return nil, err
	}
	return softmaxOf(penalty, data).Fit(ctx, data, rnd)
}

func softmaxOf(penalty float64, data teachers.Dataset) teachers.Softmax {
	return teachers.Softmax{L2: penalty / float64(data.X.Rows), Iterations: linearIterations}
}

func (p penalised) choose(ctx context.Context, data teachers.Dataset, rnd *rand.Rand) (float64, error) {
	learn, held := p.halves(data, rnd)
	best := penalties()[0]
	if held.X.Rows == 0 || learn.X.Rows == 0 {
		return best, nil
	}
	var before []int
	for _, penalty := range penalties() {
		model, err := softmaxOf(penalty, learn).Fit(ctx, learn, rnd)
		if err != nil {
			return 0, fmt.Errorf("penalty: %w", err)
		}
		now := make([]int, held.X.Rows)
		if err := model.Predict(now, held.X); err != nil {
			return 0, fmt.Errorf("penalty: %w", err)
		}
		if before == nil || better(now, before, held.Y) { // significantly more rows right than with best
			best, before = penalty, now
		}
	}
	return best, nil
}

func better(now, before, labels []int) bool {
	won, lost := 0, 0
	for i, y := range labels {
		switch {
		case now[i] == y && before[i] != y:
			won++
		case now[i] != y && before[i] == y:
			lost++
		}
	}
	return float64(won-lost) > 2*math.Sqrt(float64(won+lost))
}

func (p penalised) halves(data teachers.Dataset, rnd *rand.Rand) (learn, held teachers.Dataset) {
	back := map[string]bool{}
	var rows [2][]int
	for k, i := range rnd.Perm(data.X.Rows) {
		if k == penaltyRows {
			break
		}
		unit := p.units[i]
		is, seen := back[unit]
		if !seen {
			is = rnd.IntN(penaltyHeld) == 0
			back[unit] = is
		}
		part := 0
		if is {
			part = 1
		}
		rows[part] = append(rows[part], i)
	}
	of := func(rows []int) teachers.Dataset {
		d := teachers.Dataset{X: dense.Pick(data.X, rows), Y: make([]int, len(rows)), Classes: data.Classes}
		for k, i := range rows {
			d.Y[k] = data.Y[i]
		}
		return d
	}
	return of(rows[0]), of(rows[1])
}
