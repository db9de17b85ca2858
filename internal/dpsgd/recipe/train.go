package recipe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

func (j *job) run(ctx context.Context) (Row, error) {
	j.dir = results.Folder(j.Dir).Private(j.name())
	if err := durable.PrivateFolder(j.dir); err != nil {
		return Row{}, wrapped(err)
	}
	durable.Sweep(j.checkpoint(), "") // temporary files of killed processes; only this run uses the folder
	var err error
	if j.id, err = run.ID(j.Key, kind, j.hash[:], j.settings()); err != nil {
		return Row{}, err
	}
	var done state
	if err := run.ReadState(j.stateFile(), j.id, &done); err != nil {
		return Row{}, err
	}
	if done.Row != nil {
		j.result.Ledger, done.Row.Predicted = done.Ledger, done.Predicted
		return *done.Row, j.removeCheckpoint()
	}
	if j.plan.NonPrivate {
		return j.trainWithout(ctx, done)
	}
	if j.claim, err = j.plan.claim(j.shape, j.Delta); err != nil {
		return Row{}, err
	}
	return j.released(ctx, done)
}

func (j *job) settle(ctx context.Context, shared *ledger.Ledger) (float64, error) {
	j.Progress(Progress{Stage: "noise", Done: 0, Total: 1})
	return j.chooseNoise(ctx, shared, j.plan)
}

func (j *job) modelFile(releasable bool) (string, os.FileMode, error) {
	return results.Folder(j.Dir).Place(releasable, "models", j.name()+".model")
}

func (j *job) released(ctx context.Context, done state) (row Row, err error) {
	path, mode, err := j.modelFile(j.Key.Releasable() && j.result.Withheld == "")
	if err != nil {
		return Row{}, wrapped(err)
	}
	var file run.File
	if j.Shared != nil {
		file = j.Shared.File
	} else {
		if done.Noise == 0 {
			if done.Noise, err = j.settle(ctx, nil); err == nil {
				err = j.save(done) // before the charge: a resumed run must use the same noise
			}
		}
		if err == nil {
			file, err = j.ownFile(done.Noise)
		}
		if err != nil {
			return Row{}, err
		}
	}
	j.noise = done.Noise
	var session *run.Session
	session, err = run.Run{
		File: file, Kind: kind, Key: j.Key, Units: units(j.shape.Records),
		Plan: func(ctx context.Context, before *run.Before) (plan run.Plan, err error) {
			if j.Shared != nil {
				var is settings
				plan.Same, is, err = Recorded(before, j.hash[:], func(is settings) settings { return j.withNoise(is.Noise) })
				if j.noise = is.Noise; err == nil && plan.Same == nil {
					j.noise, err = j.settle(ctx, before.Ledger)
				}
			}
			plan.Events, plan.Inputs = [][]accountant.Event{j.charges(j.plan, j.noise)}, j.hash[:]
			plan.Settings = j.withNoise(j.noise)
			return plan, err
		},
		Stages: []run.Stage{{
			Out: path, Mode: mode, Redraw: true, // the row needs another Draw
			Draw: func(reservations []*ledger.Reservation, _ rng.Key, out io.Writer) error {
				claim, err := claimOf(session.Ledger)
				if err != nil {
					return err
				}
				paid := Paid{Entry: reservations[0].Entry(), Epsilon: claim, Delta: session.Ledger.Config().Delta}
				trained, file, err := j.train(ctx, done, reservations, paid)
				if err != nil {
					return err
				}
				row = trained
				_, err = out.Write(file)
				return err
			},
		}},
	}.Open(ctx)
	if err != nil {
		return Row{}, wrapped(err)
	}
	defer session.Close()
	if _, err := session.Next(ctx); err != nil {
		return Row{}, wrapped(err)
	}
	end := state{Noise: j.noise, Row: &row}
	if j.Shared != nil {
		if end.Ledger, err = stateOf(session.Ledger); err != nil {
			return Row{}, err
		}
		j.result.Ledger = end.Ledger
	}
	return row, j.finish(end)
}

func (j *job) trainWithout(ctx context.Context, done state) (Row, error) {
	row, file, err := j.train(ctx, done, nil, Paid{})
	if err != nil {
		return Row{}, err
	}
	path, mode, err := j.modelFile(false)
	if err == nil {
		err = durable.WriteBytes(path, mode, file)
	}
	if err != nil {
		return Row{}, wrapped(err)
	}
	return row, j.finish(state{Row: &row})
}

func (j *job) train(ctx context.Context, done state, reservations []*ledger.Reservation, paid Paid) (Row, []byte, error) {
	start := time.Now()
	var statistics []*ledger.Reservation
	var training *ledger.Reservation
	if n := len(reservations); n > 0 {
		statistics, training = reservations[:n-1], reservations[n-1]
	}
	p, err := j.prepare(ctx, statistics)
	if err != nil {
		return Row{}, nil, err
	}
	key := j.Key.Derive("recipe", uint64(j.seed))
	_, columns := p.train.Dims()
	m, err := j.plan.Recipe.newModel(j.shape, columns, key)
	if err != nil {
		return Row{}, nil, wrapped(err)
	}
	trained, err := j.plan.Recipe.trained(m, j.shape, key)
	if err != nil {
		return Row{}, nil, wrapped(err)
	}
	cfg := j.plan.train(j.noise)
	cfg.Records = j.shape.Records
	cfg.Workers, cfg.Checkpoint, cfg.CheckpointEvery = j.Workers, j.checkpoint(), checkpointEvery(cfg.TotalSteps())
	watch := watcher{job: j, ctx: context.WithoutCancel(ctx), model: m, test: p.test, curve: done.Curve}
	cfg.Observe = watch.step
	account, err := j.Typical.Follow(&cfg)
	if err != nil {
		return Row{}, nil, wrapped(err)
	}
	result, err := dpsgd.Train(ctx, trained, p.train, cfg, training, key)
	switch {
	case err != nil:
		return Row{}, nil, wrapped(err)
	case watch.err != nil:
		return Row{}, nil, watch.err
	}
	if result.Average != nil {
		copy(m.Parameters(), result.Average)
	}
	row, err := j.row(ctx, m, p, cfg, result)
	if err != nil {
		return Row{}, nil, err
	}
	if row.Figures, err = account.Figures(); err != nil {
		return Row{}, nil, err
	}
	if j.seed == 0 {
		last := Point{Step: row.Steps, Accuracy: row.Accuracy}
		if row.Epsilon != nil {
			last.Epsilon = *row.Epsilon
		}
		row.Curve = append(watch.curve, last)
	}
	row.Seconds = wholeSeconds(start)
	whole := Model{Card: j.card(row), made: p.by, network: m}
	if p.by.Fixed != nil {
		whole.Extractor = p.by.Fixed.Name()
	}
	format := j.Format
	if format == nil {
		format = func(m *Model, _ Paid) ([]byte, error) { return m.bytes() }
	}
	file, err := format(&whole, paid)
	return row, file, err
}

func (j *job) finish(done state) error {
	if err := j.save(done); err != nil {
		return err
	}
	return j.removeCheckpoint()
}

func (j *job) checkpoint() string { return filepath.Join(j.dir, "checkpoint") }

func (j *job) removeCheckpoint() error {
	if err := os.Remove(j.checkpoint()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("recipe: %w", err)
	}
	return nil
}

func (j *job) card(row Row) Card {
	c := Card{
		Data: j.Task.Name, Features: row.Features, Kind: row.Model, Columns: j.Task.Private.X.Cols, Image: j.Task.Image,
		Classes: j.Task.Classes, Encoder: j.Task.Encoder, Reading: j.Rows, Epsilon: row.Epsilon, Releasable: row.Releasable,
		Scored: rowsHash(j.Task.Test),
	}
	if row.Epsilon != nil {
		c.Delta, c.Unit = j.Delta, j.Unit
	}
	return c
}

func (j *job) row(ctx context.Context, m *nn.Model, p prepared, cfg dpsgd.Config, trained dpsgd.Result) (Row, error) {
	_, columns := p.train.Dims()
	row := Row{
		Model: j.plan.Recipe.Model, Features: j.plan.Recipe.Features, Dimensions: columns, Parameters: len(m.Parameters()),
		Releasable: trained.Releasable && j.result.Withheld == "", Steps: trained.Steps, Probability: cfg.Probability(),
		Noise: cfg.NoiseMultiplier, LearningRate: cfg.LearningRate, Statistics: []json.RawMessage{}, Name: j.plan.name(),
	}
	if s := cfg.Sampling; s.Scheme != dpsgd.Poisson {
		row.Sampling, row.EpochSteps, row.Bands = s.Scheme, s.EpochSteps, s.Bands
	}
	if learned, ok := j.plan.Recipe.learned(j.shape); ok && !j.plan.NonPrivate {
		row.Settings = learned.Name()
	}
	if !math.IsInf(cfg.ClipNorm, 1) {
		row.ClipNorm = cfg.ClipNorm
	}
	err := row.score(ctx, m, p.test, j.Task.Test.Y, len(j.Task.Classes))
	if err != nil {
		return row, err
	}
	if row.AUROC, err = area(ctx, m, p.test, j.Task.Test.Y, len(j.Task.Classes)); err != nil || j.plan.NonPrivate {
		return row, err
	}
	events := j.plan.events(cfg.NoiseMultiplier)
	for _, e := range events[:len(events)-1] {
		text, err := accountant.MarshalEvent(e)
		if err != nil {
			return row, wrapped(err)
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

func claimOf(l *ledger.Ledger) (float64, error) {
	if c := l.Config(); c.Mode != ledger.Reserved {
		return c.Epsilon, nil
	}
	claim, err := l.Epsilon()
	return claim, wrapped(err)
}

func stateOf(l *ledger.Ledger) (*LedgerState, error) {
	c := l.Config()
	claim, err := claimOf(l)
	if err != nil {
		return nil, err
	}
	return &LedgerState{Unit: c.Unit, Mode: c.Mode, Budget: c.Epsilon, Claim: claim, LeftRho: l.Left().Rho}, nil
}

const curvePoints = 8

func checkpointEvery(total int) int { return max(2, total/20) }

func onCurve(step, total int) bool {
	// A step with a checkpoint, except the last step, has none: dpsgd.Train writes the checkpoint before it
	// calls Observe, so a resumed run could miss the Point.
	for k := 1; k < curvePoints; k++ {
		at := k * total / curvePoints
		if at > 1 && at%checkpointEvery(total) == 0 {
			at--
		}
		if at == step {
			return true
		}
	}
	return false
}

type watcher struct {
	*job
	ctx   context.Context // not cancelled by an interruption, since a point takes a moment
	model *nn.Model
	test  dpsgd.Data
	curve []Point
	last  float64 // epsilon at the last point
	err   error
}

func (w *watcher) step(m dpsgd.Metrics) {
	if w.err == nil && onCurve(m.Step, m.Steps) {
		w.err = w.point(m)
	}
	w.Progress(Progress{Stage: w.stage(), Done: m.Step, Total: m.Steps, Epsilon: w.last})
}

func (w *watcher) point(m dpsgd.Metrics) error {
	if !w.plan.NonPrivate {
		var known bool
		if w.last, known = w.spent[m.Step]; !known {
			events := w.plan.events(w.noise) // statistics and the steps until now
			events[len(events)-1] = m.Event
			b, err := w.claim.epsilonOf(w.ctx, whole(events))
			if err != nil {
				return err
			}
			w.last, w.spent[m.Step] = b.Upper, b.Upper
		}
	}
	if w.seed != 0 {
		return nil
	}
	var at Row
	if err := at.score(w.ctx, w.model, w.test, w.Task.Test.Y, len(w.Task.Classes)); err != nil {
		return err
	}
	seen := slices.IndexFunc(w.curve, func(p Point) bool { return p.Step >= m.Step })
	if seen >= 0 { // points after the checkpoint from which the training resumed
		w.curve = w.curve[:seen]
	}
	w.curve = append(w.curve, Point{Step: m.Step, Epsilon: w.last, Accuracy: at.Accuracy})
	return w.save(state{Noise: w.noise, Curve: w.curve})
}

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
