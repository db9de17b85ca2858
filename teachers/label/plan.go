package label

import (
	"context"
	"errors"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/ledger/release"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/mechanisms"
	"github.com/pate-go/pate/aggregate/plan"
)

// Plan returns c with the mechanism, the noise and the queries that the ledger recorded
// for the first query of c's pool, or of a new run with those that get the most right
// labels out of what is left of the budget. They are planned from p and goal, public
// numbers alone, of which Queries, Epsilon and Delta are those of c. Nothing is charged.
// Where no labels are right often enough the error is a *[plan.NoPlanError].
func Plan(ctx context.Context, c Config, p plan.Public, goal plan.Goal) (Config, error) {
	from, _ := c.Votes.Range()
	s, from, to, found, err := Recorded(c.Ledger, c.Pool, from)
	if err != nil {
		return c, err
	}
	if !found {
		p.Queries = c.Votes.Queries()
		a, err := c.plan(ctx, p, goal)
		if err != nil {
			return c, err
		}
		from, _ = c.Votes.Range()
		s, to = a.Setting, from+a.Setting.Queries
	}
	c.Setting = aggregate.Setting{Mechanism: s.Mechanism, Values: s.Values}
	c.Votes, err = c.Votes.Part(from, to)
	return c, err
}

// plan plans a new run on what is left of the ledger.
func (c Config) plan(ctx context.Context, p plan.Public, goal plan.Goal) (plan.Alternative, error) {
	file := c.file()
	file.Warn = nil // Run will warn
	account, fresh, err := file.Look()
	if err != nil {
		return plan.Alternative{}, err
	}
	var book *ledger.Ledger
	if fresh {
		book, err = release.Trial(account)
	} else {
		var open *release.Book
		if open, err = file.Open(ctx, account); err == nil {
			book = open.Ledger
			defer open.Close()
		}
	}
	if err != nil {
		return plan.Alternative{}, err
	}
	goal.Epsilon, goal.Delta = account.Epsilon, account.Delta
	a, err := plan.ForLabels(ctx, p, goal, func(s aggregate.Setting) (bool, error) {
		d, err := mechanisms.Find(s.Mechanism)
		if err != nil {
			return false, err
		}
		e, err := d.Event(s)
		if err != nil {
			return false, err
		}
		err = book.Try(e)
		if errors.Is(err, ledger.ErrBudgetExceeded) {
			return false, nil
		}
		return err == nil, err
	})
	return a, sealed(err)
}
