package analyze

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/aggregate/analysis"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/votes"
)

// releaseRun is one release of a number; see package run for its order.
type releaseRun struct {
	ctx       context.Context
	globals   *shell.Globals
	flags     releaseFlags
	file      run.File
	account   ledger.Config
	fresh     bool // the ledger is new
	sanitizer *analysis.Sanitizer
	votes     *votes.Source
}

func (r *releaseRun) run(histograms iter.Seq2[aggregate.Histogram, error]) (releasedReport, error) {
	f, report := r.flags, releasedReport{}
	if r.fresh {
		if err := r.tryFresh(); err != nil {
			return report, err
		}
	}
	book, err := r.file.Open(r.ctx, r.account)
	if err != nil {
		return report, shell.FaultError(err, "ledger")
	}
	defer book.Close()
	one := run.Release{
		Run: "pate analyze release " + f.name, Events: []accountant.Event{r.sanitizer.Event()},
		Key: run.Key{File: f.keyPath()}, Out: run.Out{Path: f.out, Tag: "released", Mode: 0o644},
		Draw: func(reservations []*ledger.Reservation, key rng.Key, out io.Writer) error {
			released, err := r.sanitizer.Release(r.ctx, reservations[0], key, histograms)
			if err != nil {
				return shell.FaultError(err, "votes")
			}
			report = r.report(released)
			return shell.WriteJSON(out, report)
		},
		Read: func(file io.Reader) error {
			text, err := io.ReadAll(file)
			if err == nil {
				err = json.Unmarshal(text, &report)
			}
			return err
		},
	}
	if r.globals.Seeded {
		one.Key, one.Out.Mode = run.Key{Given: rng.SeedKey(r.globals.Seed)}, 0o600
		one.Redraw = true // the ledger does not name the seed: another one is found by what it draws
	}
	done, err := book.Release(r.ctx, one)
	switch {
	case err != nil:
		return report, r.refused(err, done.Recorded)
	case done.Complete:
		r.globals.Logf("%s is what was released; nothing was drawn or charged", f.out)
	case done.Recorded:
		r.globals.Logf("went on with the release that was charged before, at no further cost")
	}
	return report, nil
}

// tryFresh checks, before anything is written, what a new ledger would refuse.
func (r *releaseRun) tryFresh() error {
	if err := cmp.Or(r.flags.target().CheckAbsent(), r.flags.target().CheckWritable()); err != nil {
		return err
	}
	trial, err := run.Trial(r.account)
	if err != nil {
		return err
	}
	if err := trial.Try(r.sanitizer.Event()); err != nil {
		return r.refused(err, false)
	}
	return nil
}

// refused says why a release is not charged, or may not leave.
func (r *releaseRun) refused(err error, recorded bool) error {
	var budget *ledger.BudgetError
	var refused *fault.Error
	var ce *shell.CommandError
	c := r.sanitizer.Config()
	switch {
	case errors.As(err, &ce), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &refused):
		if recorded {
			again := *refused
			again.Fix += "; another release needs another --name and is charged"
			err = &again
		}
		return shell.FaultError(err, "ledger")
	case errors.As(err, &budget) && math.IsInf(budget.Epsilon, 1):
		return &shell.CommandError{Code: shell.ExitOverBudget, What: fmt.Errorf("with --beta %.6g the release costs infinitely much at every order that the ledger works with", c.Beta),
			Why: fmt.Sprintf("its cost is finite at orders below %.6g only, and an order that low bounds nothing at this budget; nothing was charged or written", analysis.OrderLimit(c.Beta)),
			Fix: "lower --beta, or raise --order from which it follows, without a look at the votes", Topic: "privacy"}
	case errors.Is(err, ledger.ErrBudgetExceeded):
		return &shell.CommandError{Code: shell.ExitOverBudget, What: err,
			Why: "the release is charged before the votes are counted; nothing was charged or written",
			Fix: "raise --sigma-ss or lower --beta, without a look at the votes", Topic: "privacy"}
	case errors.Is(err, ledger.ErrBroken), errors.Is(err, ledger.ErrCorrupt), errors.Is(err, ledger.ErrSealed):
		return err
	case recorded:
		return shell.InputError(fmt.Errorf("release %q on this ledger was another one", r.flags.name),
			"a number is released once; with other votes or parameters it is another release",
			"repeat that command, or give this release another --name", "ledger")
	}
	return err
}
