package experiments

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
)

// runDPSGD trains the models of `pate dpsgd`, by its recipes, on the private rows, and scores them on the
// test rows of the comparison; the pool is for students. It returns a row of each target and, for images,
// of the model without privacy, over all seeds.
func runDPSGD(ctx context.Context, c Config) ([]Row, error) {
	task := c.Task
	var err error
	if task.Pool, err = task.Pool.Slice(0, 0); err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	shape := recipe.ShapeOf(task)
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
	result, err := recipe.Run(ctx, recipe.Config{
		Task: task, Delta: c.Delta, Plans: plans, Seeds: c.Seeds, Unit: c.Unit, Key: c.Key, Dir: c.Dir,
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

// modelRow returns the row of a recipe's model.
func (c Config) modelRow(plan recipe.Plan, m recipe.Row) (Row, error) {
	row := Row{
		Method: DPSGD, TargetEpsilon: plan.Epsilon, Epsilon: m.Epsilon, Runs: m.Runs, Releasable: m.Releasable,
		Accuracy: m.Accuracy, SD: m.SD, Recall: m.Recall, AUROC: m.AUROC, AUROCSD: m.AUROCSD, Steps: m.Steps,
		Probability: m.Probability, NoiseMultiplier: m.Noise, Seconds: m.Seconds, Account: m.Account,
		Note: "on " + m.Features, Figures: m.Figures,
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
