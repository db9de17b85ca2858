package label

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/aggregate/stable"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

type job struct {
	Config
	predictions string // hash of the predictions file
	account     ledger.Config
	pilot       *Pilot  // nil without one
	s           setting // with all noise, once there is a plan
	calibrated  bool
	count       counts
}

func (j *job) file() run.File {
	file := run.File{Path: j.Ledger, New: j.Account, Expect: j.Expect, Warn: j.Warn}
	file.New.Run, file.New.Data = "", ""
	if file.New.Mode == ledger.Reserved && file.New.Accountant == "" {
		file.New.Accountant = accountant.ByAuto
	}
	if j.mayFail() && file.New.Mode == ledger.Filter && file.New.FailureDelta == 0 {
		file.New.FailureDelta = file.New.Delta / 2
	}
	return file
}

func (j *job) units() run.Units { return run.Units{N: j.Votes.Teachers(), Noun: "teachers"} }

func (j *job) run(ctx context.Context) run.Run {
	asked := j.Config
	return run.Run{
		File: j.file(), Kind: kind, Units: j.units(), Seed: j.Seed,
		Plan: func(ctx context.Context, before *run.Before) (run.Plan, error) {
			j.Config, j.account = asked, before.Config()
			p, err := j.plan(ctx, before)
			return p, sealed(err)
		},
		Stages: []run.Stage{{Out: j.Out, Read: j.read, Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) error {
			return j.draw(ctx, r[0], key, out)
		}}},
	}
}

func (j *job) plan(ctx context.Context, before *run.Before) (p run.Plan, err error) {
	if err := j.fits(); err != nil {
		return p, err
	}
	runs, _, err := recordedRuns(before)
	if err != nil {
		return p, err
	}
	if j.Plan != nil {
		if j.Config, err = j.planned(ctx, before, runs); err != nil {
			return p, err
		}
	}
	id, err := j.identity(j.predictions)
	if err != nil {
		return p, err
	}
	hash := j.Votes.Hash()
	p.Inputs = hash[:]
	found, err := find(runs, id, hash[:])
	if err != nil {
		return p, err
	}
	if found != nil {
		j.s, p.Same = found.id.setting(), found.Recorded
	} else if err = j.choose(ctx, before); err != nil {
		return p, err
	}
	id.take(j.s)
	p.Settings = id
	e, err := j.s.event()
	p.Events = [][]accountant.Event{{e}}
	return p, err
}

func (j *job) choose(ctx context.Context, before *run.Before) error {
	asked, err := j.setting()
	if err != nil {
		return err
	}
	if j.s, err = asked.chooseNoise(ctx, before.Ledger); err == nil && j.Accept != nil {
		err = j.Accept(j.s.s)
	}
	if err != nil {
		return err
	}
	j.calibrated = !asked.d.Settled(asked.s)
	if j.calibrated && j.s.d.Fit != nil && j.Votes.Teachers() > 0 {
		m, err := stable.New(stable.ConfigOf(j.s.s))
		if err != nil {
			return fmt.Errorf("label: %w", err)
		}
		need, err := m.DistanceFor(0.5)
		if err != nil {
			return fmt.Errorf("label: %w", err)
		}
		if most := int64(j.Votes.Teachers()) / 2; need > most {
			return &fault.Error{What: fmt.Sprintf("nothing would be released: %s needs a distance of %d moved votes, but %d teachers give at most %d",
				j.s.s.Mechanism, need, j.Votes.Teachers(), most),
				Why: "at this budget, noise and threshold are too large even for a unanimous vote; nothing was charged",
				Fix: "raise epsilon, ask fewer queries, allow fewer failures, or use a noisy argmax"}
		}
	}
	return j.s.try(ctx, before)
}

func (j *job) fits() error {
	if j.mayFail() && j.account.Mode == ledger.Filter && j.account.FailureDelta == 0 {
		return &fault.Error{What: j.Ledger + " reserves no delta for releases that may fail",
			Why: j.Setting.Mechanism + " fails with a small probability",
			Fix: "choose a ledger that was made for this mechanism or with a failure delta"}
	}
	return nil
}

func sealed(err error) error {
	if errors.Is(err, ledger.ErrSealed) {
		return &fault.Error{What: "the ledger allows no further charge",
			Why: "the ledger is in mode reserved, which allows no charge after the first release",
			Fix: "choose another ledger; several runs can charge a ledger of mode filter", Err: err}
	}
	return err
}

func (j *job) withheld() bool { return j.Seed != nil || j.account.Withheld() != "" }

func (j *job) draw(ctx context.Context, reservation *ledger.Reservation, key rng.Key, out io.Writer) error {
	hash := j.Votes.Hash()
	ask, err := j.s.start(reservation, key.DeriveBytes("votes", hash[:]))
	if err != nil {
		return err
	}
	var predictions *predictionReader
	if j.Predictions != "" {
		if predictions, err = openPredictions(j.Predictions, j.Votes.Classes()); err != nil {
			return err
		}
		defer predictions.close()
	}
	progress := func(int) {}
	if j.Progress != nil {
		progress = func(done int) { j.Progress(done, j.s.s.Queries) }
	}
	w := newLabelWriter(out, FormOf(j.Out), j.Votes.ClassNames(), j.withheld())
	w.each = j.Each
	err = askAll(ctx, j.Votes.Histograms(ctx), predictions, ask, w, progress)
	j.count = w.counts
	if err == nil && predictions != nil {
		err = predictions.unchanged(j.predictions)
	}
	return err
}

func (j *job) read(file io.Reader) (err error) {
	j.count, err = countLabels(file, func(query, label string) {
		class := slices.Index(j.Votes.ClassNames(), label)
		if n, err := strconv.Atoi(label); class < 0 && err == nil {
			class = n
		}
		if q, err := strconv.ParseUint(query, 10, 64); err == nil && j.Each != nil {
			j.Each(q, class)
		}
	})
	return err
}

func (j *job) result(ctx context.Context, book *ledger.Ledger, done run.Done) (Result, error) {
	result := Result{
		Asked: j.count.asked, Answered: j.count.answered, Declined: j.count.asked - j.count.answered, NotAsked: j.s.s.Queries - j.count.asked,
		Setting: j.s.s, Calibrated: j.calibrated,
		Releasable: !j.withheld(), Votes: j.Votes, Pilot: j.pilot,
		Resumed: done.Recorded, Complete: done.Complete, Entry: done.Entry, SHA256: done.SHA256,
	}
	e, err := j.s.event()
	if err != nil {
		return Result{}, err
	}
	return result, result.Charged(ctx, book, j.account, e)
}

// Charged sets Account, Epsilon, Delta, Claim, Lack, By and Left from the ledger and the event e.
func (r *Result) Charged(ctx context.Context, book *ledger.Ledger, account ledger.Config, e accountant.Event) error {
	own, err := accountant.Epsilon(ctx, account.Method(), account.Relation, account.Delta, e)
	if err != nil {
		return fmt.Errorf("label: %w", err)
	}
	r.Account, r.Delta, r.Left = account, account.Delta, book.Left()
	r.Epsilon, r.Lack = own.Upper, own.Lack
	r.Claim, r.By = account.Epsilon, accountant.ByRDP
	if account.Mode == ledger.Reserved {
		claim, err := book.Claim()
		if err != nil {
			return fmt.Errorf("label: %w", err)
		}
		r.Claim, r.By = claim.Epsilon, claim.By
	}
	return nil
}

// Stage returns a stage of a run that releases the labels of c. After the run, the returned function computes
// the Result. No other run may use the ledger. All noise in c.Setting must be set. Stage ignores c.Ledger and
// c.Expect.
func Stage(ctx context.Context, c *Config) (run.Stage, func(*run.Session, run.Done) (Result, error)) {
	j := &job{}
	ready := func() (err error) {
		j.Config, j.account = *c, c.Account
		if err = j.check(); err == nil {
			j.s, err = c.setting()
		}
		return err
	}
	stage := run.Stage{
		Name: "labels", Out: c.Out,
		Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) error {
			if err := ready(); err != nil {
				return err
			}
			return j.draw(ctx, r[0], key, out)
		},
		Read: func(file io.Reader) error {
			if err := ready(); err != nil {
				return err
			}
			return j.read(file)
		},
	}
	return stage, func(s *run.Session, done run.Done) (Result, error) {
		j.account = s.Account
		return j.result(ctx, s.Ledger, done)
	}
}

// Event returns the privacy cost of labels by the mechanism in s. The noise must be set.
func Event(s aggregate.Setting) (accountant.Event, error) {
	d, err := mechanisms.Find(s.Mechanism)
	if err != nil {
		return nil, fmt.Errorf("label: %w", err)
	}
	return setting{d, d.Complete(s)}.event()
}
