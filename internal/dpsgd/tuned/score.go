package tuned

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/internal/tune"
	"github.com/pate-go/pate/rng"
)

// run is one run of the search: a training with one setting, and its score.
func (j *job) run(price tune.Price) func(context.Context, tune.Run) (tune.Outcome, error) {
	return func(ctx context.Context, r tune.Run) (tune.Outcome, error) {
		plan := j.plans[r.Setting]
		plan.NoiseMultiplier = price.Noise
		trained, err := recipe.Run(ctx, recipe.Config{
			Task: j.inner, Delta: j.Delta, Plans: []recipe.Plan{plan}, Unit: j.Unit, Records: j.declared(),
			Key: r.Key, Dir: r.Dir, Workers: j.Workers, Cache: j.Cache,
		})
		if err != nil {
			return tune.Outcome{}, err
		}
		row := trained.Rows[0]
		if err := isCharged(plan.Event(price.Noise), row.Account); err != nil {
			return tune.Outcome{}, err
		}
		model, _ := results.Folder(r.Dir).Result(row.Releasable, "models", row.Name+"-run-0.model")
		m, err := recipe.OpenModel(model)
		if err != nil {
			return tune.Outcome{}, err
		}
		file, err := m.FileOfChosen(price.Epsilon, j.Delta, j.Task.Test)
		if err != nil {
			return tune.Outcome{}, err
		}
		score, err := j.score(ctx, m, row, r.Key)
		return tune.Outcome{Score: score, Output: file}, err
	}
}

// isCharged refuses a training that charged another event than the search counts on.
func isCharged(event accountant.Event, account *accountant.Schedule) error {
	var all accountant.Event = accountant.Composed{Events: account.Events}
	if len(account.Events) == 1 {
		all = account.Events[0]
	}
	want, err := json.Marshal(accountant.Schedule{Relation: relation, Events: []accountant.Event{event}})
	got, err2 := json.Marshal(accountant.Schedule{Relation: account.Relation, Events: []accountant.Event{all}})
	switch err := cmp.Or(err, err2); {
	case err != nil:
		return fmt.Errorf("tuned: %w", err)
	case string(got) != string(want):
		return fmt.Errorf("tuned: a run charged %s, and not %s", got, want)
	}
	return nil
}

// score returns the score of a run: the accuracy on the pool, or the number of right answers on private rows,
// with its charged noise. One unit has one row, so it moves that number by one at most.
func (j *job) score(ctx context.Context, m *recipe.Model, row recipe.Row, key rng.Key) (float64, error) {
	if j.Private == nil {
		return row.Accuracy, nil
	}
	noise, err := rng.NewDiscreteGaussian(j.Private.Sigma)
	if err != nil {
		return 0, fmt.Errorf("tuned: %w", err)
	}
	right := int64(0)
	if j.choose.Len() > 0 {
		classes, err := m.Predict(ctx, j.choose)
		if err != nil {
			return 0, err
		}
		right = int64(scores.Right(classes, j.choose.Y))
	}
	return float64(right + noise.Sample(key.Derive("tuned score").Stream())), nil
}

// accuracy returns the accuracy of the model in a file on the test rows, which are public.
func (j *job) accuracy(ctx context.Context, file string) (float64, error) {
	m, err := recipe.OpenModel(file)
	if err != nil {
		return 0, err
	}
	classes, err := m.Predict(ctx, j.Task.Test)
	if err != nil {
		return 0, err
	}
	accuracy, _ := m.Accuracy(classes, j.Task.Test)
	return accuracy, nil
}
