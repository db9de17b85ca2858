package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/analysis"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/teachers/votes"
)

// releaseRun is one release: its key is on disk before it is charged, the charge
// before votes are counted, the commit before the file, and the key is destroyed
// after that. Started again anywhere in between it does the same.
type releaseRun struct {
	ctx       context.Context
	globals   *globals
	flags     releaseFlags
	account   ledger.Config
	fresh     bool // the ledger is new
	sanitizer *analysis.Sanitizer
	votes     *votes.Source
}

func (r *releaseRun) run(histograms iter.Seq2[aggregate.Histogram, error]) (releasedReport, error) {
	f := r.flags
	if r.fresh {
		if err := r.tryFresh(); err != nil {
			return releasedReport{}, err
		}
	}
	l, err := ledger.OpenContext(r.ctx, f.ledger, r.account)
	if err != nil {
		return releasedReport{}, err
	}
	defer l.Close()
	run, err := l.Run("pate analyze release " + f.name)
	if err != nil {
		return releasedReport{}, err
	}
	recorded := run.Recorded() > 0
	if !recorded {
		if err := r.affordable(l); err != nil {
			return releasedReport{}, err
		}
	}
	key, found, err := r.key(recorded)
	if err != nil {
		return releasedReport{}, err
	}
	reservation, err := run.Reserve(r.sanitizer.Event())
	if err != nil {
		return releasedReport{}, r.refused(err, recorded)
	}
	if !found {
		return r.complete(l, reservation)
	}
	committed, err := r.committed(reservation.Entry())
	if err == nil && !committed { // so the file is not yet written
		err = r.clear()
	}
	if err != nil {
		return releasedReport{}, err
	}
	out, err := r.sanitizer.Release(r.ctx, reservation, key, histograms)
	if err != nil {
		return releasedReport{}, told(err, "votes")
	}
	report := r.report(out)
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return releasedReport{}, err
	}
	text = append(text, '\n')
	if err := l.Commit(reservation, text); err != nil {
		return releasedReport{}, r.refused(err, recorded)
	}
	if err := f.target().write(0o644, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return releasedReport{}, err
	}
	if !r.globals.seeded {
		if err := keyfile.Destroy(f.keyPath()); err != nil {
			return releasedReport{}, err
		}
	}
	if recorded {
		r.globals.logf("went on with the release that was charged before, at no further cost")
	}
	return report, nil
}

// clear is that the file can be written and is not there.
func (r *releaseRun) clear() error {
	if err := r.flags.target().free(); err != nil {
		return err
	}
	return r.flags.target().possible()
}

// tryFresh checks, before anything is written, what a new ledger would refuse.
func (r *releaseRun) tryFresh() error {
	trial, err := ledger.Open("", r.account)
	if err != nil {
		return err
	}
	return r.affordable(trial)
}

// affordable checks, before a key is made, what would refuse a release that is new.
func (r *releaseRun) affordable(l *ledger.Ledger) error {
	if err := r.clear(); err != nil {
		return err
	}
	n, err := l.Fits(r.ctx, r.sanitizer.Event())
	if err == nil && n == 0 {
		if _, err = l.Reserve(r.sanitizer.Event()); err == nil {
			err = errors.New("the ledger took what does not fit")
		}
	}
	if err != nil {
		return r.refused(err, false)
	}
	return nil
}

// key is that of the release, and is made if it is new. It is not found if the
// release is complete.
func (r *releaseRun) key(recorded bool) (key aggregate.Key, found bool, err error) {
	if r.globals.seeded {
		return aggregate.SeedKey(r.globals.seed), true, nil
	}
	key, found, err = keyfile.Read(r.flags.keyPath())
	if err != nil || found || recorded {
		return key, found, err
	}
	if key, err = aggregate.NewKey(); err != nil {
		return key, false, err
	}
	return key, true, keyfile.Write(r.flags.keyPath(), key)
}

// complete checks that the file is what was released.
func (r *releaseRun) complete(l *ledger.Ledger, reservation *ledger.Reservation) (releasedReport, error) {
	bad := func(what error) error {
		return &commandError{code: exitCheckFailed, what: what,
			why: "the key is gone, so the number cannot be drawn again; the ledger remembers only its hash",
			fix: "restore the file; another release needs another --name and is charged", topic: "ledger"}
	}
	committed, err := r.committed(reservation.Entry())
	if err != nil {
		return releasedReport{}, err
	}
	if !committed {
		return releasedReport{}, bad(fmt.Errorf("release %q was charged and not completed, and its key is gone", r.flags.name))
	}
	text, err := os.ReadFile(r.flags.out)
	if err != nil {
		return releasedReport{}, bad(err)
	}
	if err := l.Commit(reservation, text); err != nil {
		return releasedReport{}, bad(fmt.Errorf("%s is not what was released as %q", r.flags.out, r.flags.name))
	}
	var report releasedReport
	if err := json.Unmarshal(text, &report); err != nil {
		return releasedReport{}, fmt.Errorf("%s: %w", r.flags.out, err)
	}
	r.globals.logf("%s is what was released; nothing was drawn or charged", r.flags.out)
	return report, nil
}

// committed says whether an entry was completed.
func (r *releaseRun) committed(entry int64) (bool, error) {
	file, err := os.Open(r.flags.ledger)
	if err != nil {
		return false, err
	}
	defer file.Close()
	sum, err := ledger.Verify(file, nil)
	return err == nil && sum.Committed(entry), err
}

// refused says why a release is not charged, or may not leave.
func (r *releaseRun) refused(err error, recorded bool) error {
	var budget *ledger.BudgetError
	c := r.sanitizer.Config()
	switch {
	case errors.As(err, &budget) && math.IsInf(budget.Epsilon, 1):
		return &commandError{code: exitOverBudget, what: fmt.Errorf("with --beta %.6g the release costs infinitely much at every order that the ledger works with", c.Beta),
			why: fmt.Sprintf("its cost is finite at orders below %.6g only, and an order that low bounds nothing at this budget; nothing was charged or written", analysis.OrderLimit(c.Beta)),
			fix: "lower --beta, or raise --order from which it follows, without a look at the votes", topic: "privacy"}
	case errors.Is(err, ledger.ErrSealed):
		return inputError(err, "the ledger was made in mode reserved: everything is charged before anything is released",
			"name another ledger; one of mode filter can be shared", "ledger")
	case errors.Is(err, ledger.ErrBudgetExceeded):
		return &commandError{code: exitOverBudget, what: err,
			why: "the release is charged before the votes are counted; nothing was charged or written",
			fix: "raise --sigma-ss or lower --beta, without a look at the votes", topic: "privacy"}
	case errors.Is(err, ledger.ErrBroken), errors.Is(err, ledger.ErrCorrupt):
		return err
	case recorded:
		return inputError(fmt.Errorf("release %q on this ledger was another one", r.flags.name),
			"a number is released once; with other votes or parameters it is another release",
			"repeat that command, or give this release another --name", "ledger")
	}
	return err
}
