package tuned

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/internal/tune"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

const (
	ledgerFile  = "ledger/tuned.jsonl" // unless the ledger is shared
	stateFile   = "tuned.json"
	searchState = "search"
)

// ModelFile returns the path of the chosen model in the folder dir of a run.
func ModelFile(dir string, releasable bool) string {
	path, _ := results.Folder(dir).Result(releasable, "models", "tuned.model")
	return path
}

// Nothing: this text replaces the model in its file if the drawn number of trainings is 0.
const Nothing = "nothing was chosen: the number of runs was drawn as 0\n"

type state struct {
	ID     string     `json:"id"`
	Price  tune.Price `json:"price"`
	Result *Result    `json:"result,omitempty"`
}

const kind = "tune"

type settings struct {
	Law      tune.Law      `json:"law"`
	Plans    []recipe.Plan `json:"plans"`
	Settings []Setting     `json:"settings"`
	Private  *Private      `json:"private,omitempty"`
	Epsilon  float64       `json:"epsilon,omitzero"`
	Delta    float64       `json:"delta"`
	Records  int           `json:"records,omitzero"` // declared number
	Price    *tune.Price   `json:"price,omitempty"`  // set on a shared ledger
}

func (j *job) settings() settings {
	return settings{
		Law: j.Law, Plans: j.plans, Settings: j.Settings, Private: j.Private, Epsilon: j.Epsilon, Delta: j.Delta, Records: j.Records,
	}
}

// Run searches, returns the result, and writes the chosen model to the path [ModelFile]. After an
// interruption, Run with the same Config returns the same result and charges nothing twice.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	j, err := cfg.newJob()
	switch {
	case err != nil:
		return nil, err
	case j.Key.IsZero():
		return nil, fmt.Errorf("%w: Key is empty", ErrConfig)
	case j.Dir == "":
		return nil, fmt.Errorf("%w: Dir is empty", ErrConfig)
	}
	if err := durable.PrivateFolder(j.path("ledger")); err != nil {
		return nil, fmt.Errorf("tuned: %w", err)
	}
	var done state
	hash := j.Task.Hash()
	if done.ID, err = run.ID(j.Key, kind, hash[:], j.settings()); err != nil {
		return nil, err
	}
	if err := run.ReadState(j.path(stateFile), done.ID, &done); err != nil {
		return nil, err
	}
	if done.Result == nil {
		if err := j.release(ctx, hash[:], &done); err != nil {
			return nil, fmt.Errorf("tuned: %w", err)
		}
	}
	if err := os.RemoveAll(j.path(searchState)); err != nil { // it holds the scores of other runs
		return nil, fmt.Errorf("tuned: %w", err)
	}
	return done.Result, nil
}

func (j *job) path(name string) string {
	return results.Folder(j.Dir).Private(filepath.FromSlash(name))
}

// TryLedger returns the error of Run if a new run does not fit in the shared ledger. TryLedger writes
// nothing. The ledger file need not exist.
func (c Config) TryLedger(ctx context.Context) error {
	j, err := c.newJob()
	if err != nil {
		return err
	}
	if j.Key.IsZero() && j.Shared.Account.Noise == ledger.SeededNoise {
		j.Key = rng.SeedKey(0)
	}
	if err := j.search(nil, &state{}, run.Stage{}).Try(ctx); err != nil {
		return fmt.Errorf("tuned: %w", err)
	}
	return nil
}

func (j *job) search(hash []byte, s *state, stage run.Stage) run.Run {
	file := run.File{Path: j.path(ledgerFile), New: ledger.Config{
		Unit: j.Unit, Relation: relation, Epsilon: j.Epsilon, Delta: j.Delta, Run: s.ID, Waived: j.Task.Waived(),
	}}
	if j.Shared != nil {
		file = j.Shared.File
	}
	return run.Run{
		File: file, Kind: kind, Key: j.Key, Stages: []run.Stage{stage},
		Plan: func(ctx context.Context, before *run.Before) (plan run.Plan, err error) {
			var is settings
			plan.Same, is, err = recipe.Recorded(before, hash, func(is settings) settings { return j.withPrice(is.Price) })
			if is.Price != nil {
				s.Price = *is.Price
			}
			if err == nil && s.Price.Noise == 0 {
				if s.Price, err = j.priceOn(ctx, before.Ledger); err == nil && j.Shared == nil {
					err = run.WriteState(j.path(stateFile), s) // before the charge: a resumed search must use the same price
				}
			}
			if err != nil {
				return plan, err
			}
			one, err := j.event(s.Price.Noise)
			if err != nil {
				return plan, err
			}
			plan.Events, plan.Settings, plan.Inputs = [][]accountant.Event{{j.Law.Event(one)}}, j.withPrice(&s.Price), hash
			return plan, nil
		},
	}
}

func (j *job) withPrice(price *tune.Price) settings {
	s := j.settings()
	s.Price = price
	return s
}

func (j *job) priceOn(ctx context.Context, l *ledger.Ledger) (tune.Price, error) {
	if j.Epsilon != 0 {
		return j.quote(ctx)
	}
	search := func(noise float64) (accountant.Event, error) {
		run, err := j.event(noise)
		if err != nil {
			return nil, err
		}
		return j.Law.Event(run), nil
	}
	noise, err := l.LeastNoise(ctx, search)
	if errors.Is(err, accountant.ErrNoBracket) {
		return tune.Price{}, fmt.Errorf("%w: %w", recipe.ErrSpent, err)
	}
	if err != nil {
		return tune.Price{}, fmt.Errorf("noise: %w", err)
	}
	e, err := search(noise)
	if err != nil {
		return tune.Price{}, err
	}
	b, err := accountant.Epsilon(ctx, accountant.ByRDP, relation, j.Delta, e)
	if err != nil {
		return tune.Price{}, err
	}
	return tune.PriceAt(ctx, j.Law, relation, accountant.Target{Epsilon: b.Upper, Delta: j.Delta}, noise, j.event)
}

func (j *job) release(ctx context.Context, hash []byte, s *state) error {
	path, mode, err := results.Folder(j.Dir).Place(j.releasable(), "models", "tuned.model")
	if err != nil {
		return err
	}
	var best *tune.Best
	err = j.search(hash, s, run.Stage{
		Out: path, Mode: mode, Redraw: true, // the result needs another Draw
		Draw: func(reservations []*ledger.Reservation, key rng.Key, out io.Writer) error {
			one, err := j.event(s.Price.Noise)
			if err != nil {
				return err
			}
			search := tune.Search{
				Law: j.Law, Settings: len(j.Settings), Event: one, Relation: relation,
				Run: j.run(s.Price), Dir: j.path(searchState), Every: j.Every,
			}
			if best, err = tune.Select(ctx, search, reservations[0], key); err != nil {
				return err
			}
			file := []byte(Nothing)
			if best != nil {
				file = best.Output
			}
			_, err = out.Write(file)
			return err
		},
	}).Do(ctx, nil)
	if err != nil {
		return err
	}
	if s.Result, err = j.newResult(s.Price); err != nil {
		return err
	}
	if best != nil {
		accuracy, err := j.accuracy(ctx, ModelFile(j.Dir, j.releasable()))
		if err != nil {
			return err
		}
		s.Result.Chosen = j.chosen(*best, accuracy)
	}
	return run.WriteState(j.path(stateFile), s)
}

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
