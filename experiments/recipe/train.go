package recipe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
)

// curvePoints is how many intermediate models a curve shows.
const curvePoints = 8

// run trains one model: its noise is on disk before it is charged, the charge before
// private rows are looked at, the commit before the model leaves.
func (j *job) run(ctx context.Context) (Row, error) {
	j.dir = filepath.Join(j.Dir, "private", j.name())
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return Row{}, fmt.Errorf("recipe: %w", err)
	}
	var err error
	if j.id, err = j.runID(); err != nil {
		return Row{}, err
	}
	done, err := j.load()
	if err != nil {
		return Row{}, err
	}
	if done.Row != nil {
		j.result.Ledger = done.Ledger
		return *done.Row, nil
	}
	if j.plan.NonPrivate {
		return j.train(ctx, done, book{}, nil, 0)
	}
	b, reservations, noise, err := j.charge(ctx, done)
	if err != nil {
		return Row{}, err
	}
	defer b.ledger.Close()
	return j.train(ctx, done, b, reservations, noise)
}

// charge settles the noise and reserves everything.
func (j *job) charge(ctx context.Context, done state) (b book, reservations []*ledger.Reservation, noise float64, err error) {
	noise = done.Noise
	recorded := false
	if j.Shared != nil {
		if b, recorded, err = j.sharedBook(ctx, j.id); err != nil {
			return b, nil, 0, err
		}
		defer func() {
			if err != nil {
				b.ledger.Close()
			}
		}()
	}
	if recorded && noise == 0 {
		return b, nil, 0, fmt.Errorf("recipe: %s charged this run, and %s, which knows its noise, is gone", j.Shared.Path, j.dir)
	}
	if !recorded && noise == 0 {
		j.Progress(Progress{Stage: "noise", Done: 0, Total: 1})
		noise, err = j.settle(ctx, b.ledger, j.plan)
		if err != nil {
			return b, nil, 0, err
		}
		if err = j.save(state{Noise: noise}); err != nil {
			return b, nil, 0, err
		}
	}
	events := j.plan.events(noise)
	if j.Shared == nil {
		if b, err = j.ownBook(ctx, j.name(), j.id, events); err != nil {
			return b, nil, 0, err
		}
	}
	reservations, err = b.run.ReserveBatch(events)
	if err != nil {
		if errors.Is(err, ledger.ErrBudgetExceeded) && !recorded { // it may be settled otherwise when the ledger has room
			err = errors.Join(err, j.forget())
		}
		return b, nil, 0, fmt.Errorf("recipe: %w", err)
	}
	return b, reservations, noise, nil
}

// forget removes the state of a run that was not charged.
func (j *job) forget() error {
	err := os.Remove(filepath.Join(j.dir, "state.json"))
	return err
}

// train is the training, charged.
func (j *job) train(ctx context.Context, done state, b book, reservations []*ledger.Reservation, noise float64) (Row, error) {
	start := time.Now()
	p, err := j.prepare(ctx, j.plan.Recipe.Features)
	if err != nil {
		return Row{}, err
	}
	m, err := newModel(j.plan.Recipe.Model, p.train.X.Cols, len(j.Task.Classes))
	if err != nil {
		return Row{}, err
	}
	cfg := j.plan.train(noise)
	cfg.Workers = j.Workers
	cfg.Checkpoint = filepath.Join(j.dir, "checkpoint")
	watch := watcher{job: j, ctx: ctx, model: m, test: p, cfg: cfg, curve: done.Curve}
	cfg.Observe = func(m dpsgd.Metrics) { watch.step(m.Step, m.Steps) }
	var reservation *ledger.Reservation
	if len(reservations) > 0 {
		reservation = reservations[len(reservations)-1]
	}
	key := j.Key.Derive("recipe", uint64(j.seed))
	result, err := dpsgd.Train(ctx, m, p.train, cfg, reservation, key)
	switch {
	case err != nil:
		return Row{}, fmt.Errorf("recipe: %w", err)
	case watch.err != nil:
		return Row{}, watch.err
	}
	row, err := j.row(ctx, m, p, cfg, result)
	if err != nil {
		return Row{}, err
	}
	row.Curve = watch.curve
	row.Seconds = time.Since(start).Seconds()
	done = state{Noise: noise, Row: &row}
	if reservation != nil {
		if err := b.ledger.Commit(reservation, parameterBytes(m.Parameters())); err != nil {
			return Row{}, fmt.Errorf("recipe: %w", err)
		}
		if j.Shared != nil {
			if done.Ledger, err = stateOf(b.ledger); err != nil {
				return Row{}, err
			}
			j.result.Ledger = done.Ledger
		}
	}
	if err := j.save(done); err != nil {
		return Row{}, err
	}
	if err := os.Remove(cfg.Checkpoint); err != nil {
		return Row{}, fmt.Errorf("recipe: %w", err)
	}
	return row, nil
}

// row says what was trained.
func (j *job) row(ctx context.Context, m model, p prepared, cfg dpsgd.Config, trained dpsgd.Result) (Row, error) {
	row := Row{
		Model: j.plan.Recipe.Model, Features: j.plan.Recipe.Features, Dimensions: p.train.X.Cols, Parameters: len(m.Parameters()),
		Releasable: trained.Releasable, Steps: trained.Steps, Probability: cfg.SamplingProbability, Noise: cfg.NoiseMultiplier,
		LearningRate: cfg.LearningRate, Statistics: []json.RawMessage{}, Name: j.plan.name(),
	}
	if !math.IsInf(cfg.ClipNorm, 1) {
		row.ClipNorm = cfg.ClipNorm
	}
	var err error
	if row.Accuracy, err = score(m, p.test, j.Task.Test.Y); err != nil || j.plan.NonPrivate {
		return row, err
	}
	events := j.plan.events(cfg.NoiseMultiplier)
	for _, e := range events[:len(events)-1] {
		text, err := accountant.MarshalEvent(e)
		if err != nil {
			return row, fmt.Errorf("recipe: %w", err)
		}
		row.Statistics = append(row.Statistics, text)
	}
	bound, err := epsilonOf(ctx, whole(events), j.Delta)
	if err != nil {
		return row, err
	}
	row.Epsilon, row.EpsilonLow = &bound.Upper, &bound.Lower
	row.Account = &accountant.Schedule{Relation: relation, Events: events}
	return row, nil
}

// stateOf says how a shared ledger stands.
func stateOf(l *ledger.Ledger) (*LedgerState, error) {
	c := l.Config()
	claim := c.Epsilon
	if c.Mode == ledger.Reserved {
		var err error
		if claim, err = l.Epsilon(); err != nil {
			return nil, fmt.Errorf("recipe: %w", err)
		}
	}
	return &LedgerState{Unit: c.Unit, Mode: c.Mode, Budget: c.Epsilon, Claim: claim, LeftRho: l.Left().Rho}, nil
}

// watcher follows a training.
type watcher struct {
	*job
	ctx   context.Context
	model model
	test  prepared
	cfg   dpsgd.Config
	curve []Point
	last  float64 // epsilon at the last point
	err   error
}

func (w *watcher) step(step, total int) {
	if w.err == nil && step*curvePoints/total > (step-1)*curvePoints/total {
		w.err = w.point(step)
	}
	w.Progress(Progress{Stage: w.stage(), Done: step, Total: total, Epsilon: w.last})
}

// point says what the model has cost so far and, with the first seed, scores it.
func (w *watcher) point(step int) error {
	if !w.plan.NonPrivate {
		var known bool
		if w.last, known = w.spent[step]; !known {
			var err error
			if w.last, err = w.epsilonAfter(step); err != nil {
				return err
			}
			w.spent[step] = w.last
		}
	}
	if w.seed != 0 {
		return nil
	}
	a, err := score(w.model, w.test.test, w.Task.Test.Y)
	if err != nil {
		return err
	}
	for i, seen := range w.curve {
		if seen.Step >= step { // behind the checkpoint that the training went on from
			w.curve = w.curve[:i]
			break
		}
	}
	w.curve = append(w.curve, Point{Step: step, Epsilon: w.last, Accuracy: a})
	return w.save(state{Noise: w.cfg.NoiseMultiplier, Curve: w.curve})
}

// epsilonAfter is the cost of everything up to a step.
func (w *watcher) epsilonAfter(step int) (float64, error) {
	events := w.plan.events(w.cfg.NoiseMultiplier)
	spent := w.cfg
	spent.Steps = step
	events[len(events)-1] = spent.Event()
	b, err := epsilonOf(w.ctx, whole(events), w.Delta)
	return b.Upper, err
}

// stage names the job for a progress bar.
func (j *job) stage() string {
	name := j.plan.name()
	if j.plan.Epsilon != 0 {
		name = fmt.Sprintf("ε %g", j.plan.Epsilon)
	}
	if j.Seeds > 1 {
		name = fmt.Sprintf("%s, run %d of %d", name, j.seed+1, j.Seeds)
	}
	return name
}
