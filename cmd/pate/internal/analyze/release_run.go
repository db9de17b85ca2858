package analyze

import (
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

// releaseRun is one release of a number.
type releaseRun struct {
	globals   *shell.Globals
	flags     releaseFlags
	file      run.File
	sanitizer *analysis.Sanitizer
	votes     *votes.Source
}

// identity is what a release is a function of but its votes and its key, as the ledger has it.
type identity struct {
	Name      string                   `json:"name"`
	Mechanism string                   `json:"mechanism"`
	Sanitizer analysis.SanitizerConfig `json:"sanitizer"`
}

func (r *releaseRun) run(ctx context.Context, histograms iter.Seq2[aggregate.Histogram, error]) (report releasedReport, err error) {
	recorded := false
	one := run.Run{File: r.file, Kind: "analyze release", Units: run.Units{N: r.votes.Teachers(), Noun: "teachers"}}
	if r.globals.Seeded {
		one.Seed = &r.globals.Seed
	}
	one.Plan = func(_ context.Context, before *run.Before) (run.Plan, error) {
		p, err := r.plan(before)
		recorded = p.Same != nil
		return p, err
	}
	one.Stages = []run.Stage{{
		Out: r.flags.out,
		Draw: func(reservations []*ledger.Reservation, key rng.Key, out io.Writer) error {
			released, err := r.sanitizer.Release(ctx, reservations[0], key, histograms)
			if err != nil {
				return shell.FaultError(err, "votes")
			}
			text, err := json.Marshal(r.report(released))
			if err == nil {
				err = json.Unmarshal(text, &report)
			}
			if err != nil {
				return err
			}
			return shell.WriteJSON(out, report.text)
		},
		Read: func(file io.Reader) error { return json.NewDecoder(file).Decode(&report) },
	}}
	err = one.Do(ctx, func(_ *run.Session, done []run.Done) error {
		switch {
		case done[0].Complete:
			r.globals.Logf("%s is what was released; nothing was drawn or charged", r.flags.out)
		case done[0].Recorded:
			r.globals.Logf("went on with the release that was charged before, at no further cost")
		}
		return nil
	})
	if err != nil {
		return report, r.refused(err, recorded)
	}
	return report, nil
}

// plan finds the release of this name, which must be this one, or plans a new one.
func (r *releaseRun) plan(before *run.Before) (run.Plan, error) {
	id := identity{r.flags.name, r.flags.Mechanism, r.sanitizer.Config()}
	hash := r.votes.Hash()
	p := run.Plan{Events: [][]accountant.Event{{r.sanitizer.Event()}}, Settings: id, Inputs: hash[:]}
	text, err := json.Marshal(id)
	if err != nil {
		return p, err
	}
	for i := range before.Recorded {
		recorded := &before.Recorded[i]
		var named struct{ Name string }
		if err := json.Unmarshal(recorded.Settings, &named); err != nil {
			return p, err
		}
		if named.Name != id.Name {
			continue
		}
		same, err := recorded.Of(hash[:])
		if err != nil {
			return p, err
		}
		if !same || string(text) != string(recorded.Settings) || len(recorded.Differs) > 0 {
			return p, shell.InputError(fmt.Errorf("release %q on this ledger was another one", id.Name),
				"a number is released once; with other votes or parameters it is another release",
				"repeat that command, or give this release another --name", "ledger")
		}
		p.Same = recorded
	}
	return p, nil
}

// refused explains why a release is not charged, or may not leave.
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
		return &shell.CommandError{Code: shell.ExitOverBudget,
			What: fmt.Errorf("with --beta %.6g the release costs infinitely much at every order that the ledger works with", c.Beta),
			Why: fmt.Sprintf("its cost is finite at orders below %.6g only, and an order that low bounds nothing at this budget; nothing "+
				"was charged or written", analysis.OrderLimit(c.Beta)),
			Fix: "lower --beta, or raise --order from which it follows, without a look at the votes", Topic: "privacy"}
	case errors.Is(err, ledger.ErrBudgetExceeded):
		return &shell.CommandError{Code: shell.ExitOverBudget, What: err,
			Why: "the release is charged before the votes are counted; nothing was charged or written",
			Fix: "raise --sigma-ss or lower --beta, without a look at the votes", Topic: "privacy"}
	}
	return err
}
