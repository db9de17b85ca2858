package pate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// Trained is what is known of a model that was released. Nothing in it is private.
type Trained struct {
	NoiseMultiplier float64 // that was found for the budget
	Event           accountant.Event
	Epsilon         float64 // of everything charged to the ledger, at Delta, rounded up
	Delta           float64
	Releasable      bool
	Resumed         bool // the run had been charged before
	Complete        bool // and was complete: the model is that of the file
}

// leastLeft is the epsilon below which what is left of a ledger is no budget: a model would
// be all noise.
const leastLeft = 1e-3

// trainedRun is the name of a training on the ledger, as JSON. Everything in it is public.
type trainedRun struct {
	Train  int     `json:"train"` // version of this form
	Noise  float64 `json:"noise_multiplier"`
	Inputs string  `json:"inputs"` // their fingerprint, under the secret of the ledger
	Key    string  `json:"key"`
}

// Train trains model in place on data, by [dpsgd.Train] with the least noise for which the
// whole of it fits what is left of the budget, and saves it as Options.Out (see
// [nn.Model.Load]). cfg.NoiseMultiplier must be left out. Each unit that the ledger names
// has at most one row. Everything is charged before the first step; the file has its name
// when its hash is committed. On an error the model is as it was.
//
// A run is recognised by its data, configuration and initial parameters: with the same ones
// an interrupted run goes on, with the same noise, and a complete one loads its file.
func Train(ctx context.Context, model *nn.Model, data dpsgd.Data, cfg dpsgd.Config, o Options) (Trained, error) {
	o, err := o.complete()
	if err != nil {
		return Trained{}, err
	}
	switch {
	case cfg.NoiseMultiplier != 0 || len(cfg.Phases) > 0 || cfg.NonPrivate:
		return Trained{}, errors.New("pate: Train finds the noise: leave Config.NoiseMultiplier, Phases and NonPrivate out, or call dpsgd.Train")
	case data.X.Rows > 0 && o.Delta >= 1/float64(data.X.Rows):
		return Trained{}, &fault.Error{What: fmt.Sprintf("delta %g is not below 1/%d, one over the number of rows", o.Delta, data.X.Rows), Why: "such a delta allows giving one away", Fix: "choose a smaller delta"}
	}
	cfg.NoiseMultiplier = 1 // any: what is wrong with the rest is said before a ledger is made
	if err := errors.Join(cfg.Validate(), model.Check(data)); err != nil {
		return Trained{}, err
	}
	t := training{Options: o, model: model, data: data, cfg: cfg}
	before := slices.Clone(model.Parameters())
	trained, err := t.run(ctx)
	if err != nil {
		copy(model.Parameters(), before)
	}
	return trained, err
}

// training is a call of Train.
type training struct {
	Options
	model *nn.Model
	data  dpsgd.Data
	cfg   dpsgd.Config // its noise is 1 until it is found
}

func (t training) run(ctx context.Context) (Trained, error) {
	file := run.File{Path: t.Ledger, New: t.account(), Expect: t.expect(), Warn: t.Warn}
	account, fresh, err := file.Look()
	if err != nil {
		return Trained{}, err
	}
	if fresh {
		trial, err := run.Trial(account)
		if err == nil {
			_, err = t.least(ctx, trial)
		}
		if err != nil { // before a ledger is made
			return Trained{}, err
		}
	}
	book, err := file.Open(ctx, account)
	if err != nil {
		return Trained{}, err
	}
	defer book.Close()
	run, r, err := t.release(ctx, book)
	if err != nil {
		return Trained{}, err
	}
	done, err := book.Release(ctx, r)
	if err != nil {
		return Trained{}, err
	}
	out := Trained{
		NoiseMultiplier: run.Noise, Event: r.Events[0], Epsilon: account.Epsilon, Delta: account.Delta,
		Releasable: account.Releasable(), Resumed: done.Recorded, Complete: done.Complete,
	}
	if account.Mode == ledger.Reserved {
		if out.Epsilon, err = book.Ledger.Epsilon(); err != nil {
			return Trained{}, fmt.Errorf("pate: %w", err)
		}
	}
	return out, nil
}

// release returns what is to be carried out: a new run, or the one that the ledger recorded.
func (t training) release(ctx context.Context, book *run.Book) (trainedRun, run.Release, error) {
	fail := func(err error) (trainedRun, run.Release, error) { return trainedRun{}, run.Release{}, err }
	recorded, err := trainedRuns(book.Ledger)
	if err != nil {
		return fail(err)
	}
	named := trainedRun{Train: 1}
	secret, err := book.Secret(len(recorded) > 0)
	if err == nil {
		named.Inputs, err = run.KeyName(secret.DeriveBytes("train", dpsgd.Fingerprint(t.model, t.data, t.cfg)))
	}
	if err != nil {
		return fail(err)
	}
	var r run.Release
	name := func(key string) (string, error) {
		named.Key = key
		text, err := json.Marshal(named)
		return string(text), err
	}
	if found := slices.IndexFunc(recorded, func(is trainedRun) bool { return is.Inputs == named.Inputs }); found >= 0 {
		named = recorded[found]
		if r.Run, err = name(named.Key); err != nil {
			return fail(fmt.Errorf("pate: %w", err))
		}
		r.Key.Name = named.Key
	} else {
		if named.Noise, err = t.least(ctx, book.Ledger); err != nil {
			return fail(err)
		}
		r.NameOf = name
	}
	t.cfg.NoiseMultiplier = named.Noise
	r.Events = []accountant.Event{t.cfg.Event()}
	r.Out = run.Out{Path: t.Out, Tag: named.Inputs[:12], Mode: 0o644}
	if t.Seed != nil {
		r.Key.Given, r.Out.Mode = rng.SeedKey(*t.Seed), 0o600
	} else {
		r.Key.File = t.Ledger + "." + named.Inputs[:12] + ".key"
	}
	r.Draw = func(reservations []*ledger.Reservation, key rng.Key, out io.Writer) error {
		if _, err := dpsgd.Train(ctx, t.model, t.data, t.cfg, reservations[0], key); err != nil {
			return err
		}
		return t.model.Save(out)
	}
	r.Read = t.model.Load
	return named, r, nil
}

// least returns the least noise, rounded up to six digits, for which the training fits what
// is left.
func (t training) least(ctx context.Context, book *ledger.Ledger) (float64, error) {
	noise, err := book.LeastNoise(ctx, func(noise float64) (accountant.Event, error) {
		cfg := t.cfg
		cfg.NoiseMultiplier = noise
		return cfg.Event(), nil
	})
	left := book.Left().Epsilon
	switch {
	case errors.Is(err, ledger.ErrSealed):
		return 0, &fault.Error{What: t.Ledger + " takes no more", Why: "what it was made for is done, and was all of it", Fix: "name another ledger; one with Options.Shared can be charged again"}
	case errors.Is(err, accountant.ErrNoBracket), err == nil && left < leastLeft:
		return 0, &fault.Error{What: fmt.Sprintf("%s has nothing left for a model: a release of epsilon %.2g would still fit", t.Ledger, left), Why: "it was charged before; nothing more was", Fix: "name another ledger, and add up the two"}
	case err != nil:
		return 0, fmt.Errorf("pate: noise: %w", err)
	}
	return number.Up(noise, 6), nil
}

// trainedRuns returns the trainings that a ledger has charged.
func trainedRuns(book *ledger.Ledger) ([]trainedRun, error) {
	var runs []trainedRun
	for _, r := range book.Runs() {
		if !strings.HasPrefix(r.Name, `{"train":`) || r.Entries == 0 {
			continue
		}
		var run trainedRun
		if err := json.Unmarshal([]byte(r.Name), &run); err != nil || run.Train != 1 || len(run.Inputs) < 12 {
			return nil, errors.New("pate: the ledger holds a training that this version cannot read")
		}
		runs = append(runs, run)
	}
	return runs, nil
}
