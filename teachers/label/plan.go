package label

import (
	"context"
	"errors"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/run"
)

// Plan returns c with the mechanism, the noise and the queries that the ledger recorded
// for the first query of c's pool, or of a new run with those that get the most right
// labels out of what is left of the budget. They are planned from p and goal, public
// numbers alone, of which Queries, Epsilon and Delta are those of c. The plan is nil if it
// was recorded. Nothing is charged, and what [Run] would refuse whatever the mechanism is
// refused before a plan is made. Where no labels are right often enough, or too few, the
// error is a *[plan.NoPlanError], which says what would do if the ledger is new: the budget
// of another is not raised.
func Plan(ctx context.Context, c Config, p plan.Public, goal plan.Goal) (Config, *plan.Alternative, error) {
	if err := c.checkPlaces(); err != nil {
		return c, nil, err
	}
	file := c.file()
	account, fresh, err := file.Look()
	if err != nil {
		return c, nil, err
	}
	if err := c.checkDelta(account.Delta); err != nil {
		return c, nil, err
	}
	if fresh {
		if err := c.checkNew(); err != nil {
			return c, nil, err
		}
	}
	first, _ := c.Votes.Range()
	var s aggregate.Setting
	var from, to int
	found := false
	if !fresh {
		if s, from, to, found, err = recorded(c.Ledger, c.Pool, first); err != nil {
			return c, nil, err
		}
	}
	var planned *plan.Alternative
	if !found {
		p.Queries = c.Votes.Queries()
		a, err := planOn(ctx, file, account, fresh, p, goal)
		if err != nil {
			return c, nil, err
		}
		planned = &a
		s, from, to = a.Setting, first, first+a.Setting.Queries
	}
	c.Setting = aggregate.Setting{Mechanism: s.Mechanism, Values: s.Values}
	c.Votes, err = c.Votes.Part(from, to)
	return c, planned, err
}

// planOn plans a new run on what is left of a ledger, which is to be opened as account.
func planOn(ctx context.Context, file run.File, account ledger.Config, fresh bool, p plan.Public, goal plan.Goal) (plan.Alternative, error) {
	var book *ledger.Ledger
	var err error
	if fresh {
		book, err = run.Trial(account)
	} else {
		var open *run.Book
		if open, err = file.Open(ctx, account); err == nil {
			book = open.Ledger
			defer open.Close()
		}
	}
	if err != nil {
		return plan.Alternative{}, err
	}
	goal.Epsilon, goal.Delta, goal.Accountant = account.Epsilon, account.Delta, account.Method()
	a, err := plan.ForLabels(ctx, p, goal, func(event func(noise float64) (accountant.Event, error)) (float64, error) {
		return book.LeastNoise(ctx, event)
	})
	var none *plan.NoPlanError
	if fresh && errors.As(err, &none) {
		err = errors.Join(err, p.Remedy(ctx, none))
	}
	return a, sealed(err)
}
