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
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/durable"
)

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
	if j.claim, err = j.plan.claim(j.shape, j.Delta); err != nil {
		return Row{}, err
	}
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
	j.noise = noise
	var statistics []*ledger.Reservation
	var training *ledger.Reservation
	if n := len(reservations); n > 0 {
		statistics, training = reservations[:n-1], reservations[n-1]
	}
	p, err := j.prepare(ctx, statistics)
	if err != nil {
		return Row{}, err
	}
	key := j.Key.Derive("recipe", uint64(j.seed))
	m, err := j.plan.Recipe.newModel(j.shape, p.train.X.Cols, key)
	if err != nil {
		return Row{}, fmt.Errorf("recipe: %w", err)
	}
	trained, err := j.plan.Recipe.trained(m, j.shape, key)
	if err != nil {
		return Row{}, fmt.Errorf("recipe: %w", err)
	}
	cfg := j.plan.train(noise)
	cfg.Workers, cfg.Checkpoint, cfg.CheckpointEvery = j.Workers, filepath.Join(j.dir, "checkpoint"), checkpointEvery(cfg.TotalSteps())
	watch := watcher{job: j, ctx: context.WithoutCancel(ctx), model: m, test: p.test, curve: done.Curve}
	cfg.Observe = watch.step
	result, err := dpsgd.Train(ctx, trained, p.train, cfg, training, key)
	switch {
	case err != nil:
		return Row{}, fmt.Errorf("recipe: %w", err)
	case watch.err != nil:
		return Row{}, watch.err
	}
	if result.Average != nil {
		copy(m.Parameters(), result.Average)
	}
	row, err := j.row(ctx, m, p, cfg, result)
	if err != nil {
		return Row{}, err
	}
	if j.seed == 0 {
		last := Point{Step: row.Steps, Accuracy: row.Accuracy}
		if row.Epsilon != nil {
			last.Epsilon = *row.Epsilon
		}
		row.Curve = append(watch.curve, last)
	}
	row.Seconds = wholeSeconds(start)
	whole := Model{Card: j.card(row), transform: p.transform, fixed: p.fixed, network: m}
	if p.fixed != nil {
		whole.Extractor = p.fixed.Name()
	}
	return row, j.finish(b, reservations, whole, state{Noise: noise, Row: &row}, cfg.Checkpoint)
}

// finish commits the model, writes its file and keeps the row.
func (j *job) finish(b book, reservations []*ledger.Reservation, m Model, done state, checkpoint string) error {
	file, err := m.bytes()
	if err != nil {
		return err
	}
	var outcomes []ledger.Outcome
	for _, r := range reservations { // the model is what all of them led to
		outcomes = append(outcomes, ledger.Outcome{Of: r, Bytes: file})
	}
	if len(outcomes) > 0 {
		if err := b.ledger.CommitBatch(outcomes); err != nil {
			return fmt.Errorf("recipe: %w", err)
		}
	}
	mode := os.FileMode(0o600)
	if done.Row.Releasable {
		mode = 0o644
	}
	if err := durable.WriteBytes(filepath.Join(j.Dir, "models", j.name()+".model"), mode, file); err != nil {
		return fmt.Errorf("recipe: %w", err)
	}
	if j.Shared != nil {
		if done.Ledger, err = stateOf(b.ledger); err != nil {
			return err
		}
		j.result.Ledger = done.Ledger
	}
	if err := j.save(done); err != nil {
		return err
	}
	if err := os.Remove(checkpoint); err != nil {
		return fmt.Errorf("recipe: %w", err)
	}
	return nil
}

// card is what the model's file says of it.
func (j *job) card(row Row) Card {
	c := Card{
		Data: j.Task.Name, Features: row.Features, Kind: row.Model, Columns: j.Task.Private.X.Cols, Image: j.Task.Image,
		Classes: j.Task.Classes, Encoder: j.Task.Encoder, Epsilon: row.Epsilon, Releasable: row.Releasable,
	}
	if row.Epsilon != nil {
		c.Delta, c.Unit = j.Delta, j.Unit
	}
	return c
}

// row says what was trained.
func (j *job) row(ctx context.Context, m *nn.Model, p prepared, cfg dpsgd.Config, trained dpsgd.Result) (Row, error) {
	row := Row{
		Model: j.plan.Recipe.Model, Features: j.plan.Recipe.Features, Dimensions: p.train.X.Cols, Parameters: len(m.Parameters()),
		Releasable: trained.Releasable, Steps: trained.Steps, Probability: cfg.SamplingProbability, Noise: cfg.NoiseMultiplier,
		LearningRate: cfg.LearningRate, Statistics: []json.RawMessage{}, Name: j.plan.name(),
	}
	if learned, ok := j.plan.Recipe.learned(j.shape); ok && !j.plan.NonPrivate {
		row.Settings = learned.Name()
	}
	if !math.IsInf(cfg.ClipNorm, 1) {
		row.ClipNorm = cfg.ClipNorm
	}
	var err error
	if row.Accuracy, err = score(ctx, m, p.test, j.Task.Test.Y); err != nil || j.plan.NonPrivate {
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
	bound, err := j.claim.epsilonOf(ctx, whole(events))
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
