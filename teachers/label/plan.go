package label

import (
	"context"
	"errors"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/votes"
)

// Planning chooses mechanism, noise and queries of a new run: the most right labels from the rest of the
// budget, by public numbers alone. A run that the ledger recorded for the first query of the pool is
// repeated as it was. Where no labels are right often enough, or too few, the error is a
// *[plan.NoPlanError], with a remedy if the ledger is new: the budget of another is not raised.
type Planning struct {
	Public plan.Public // Queries is not taken
	Goal   plan.Goal   // Epsilon, Delta and Accountant are not taken
	// Accept, if set, is shown the plan and may refuse it. Nothing is charged yet.
	Accept func(context.Context, plan.Alternative) error
	// Ask, if set, returns the votes on the queries that are asked, of which there are so many. By default
	// they are the first ones of Config.Votes.
	Ask func(ctx context.Context, queries int) (*votes.Source, error)
}

// planned returns c with the mechanism, the noise and the queries of a plan, or of a recorded run.
func (c Config) planned(ctx context.Context, before *run.Before, runs []recorded) (Config, error) {
	first, _ := c.Votes.Range()
	var s aggregate.Setting
	from, to := first, 0
	if r := at(runs, c.Pool, first); r != nil {
		s, from, to = r.id.setting().s, r.id.Queries[0], r.id.Queries[1]
	} else {
		a, err := c.Plan.on(ctx, before, c.Votes.Queries())
		if err == nil && c.Plan.Accept != nil {
			err = c.Plan.Accept(ctx, a)
		}
		if err != nil {
			return c, err
		}
		s, to = a.Setting, first+a.Setting.Queries
	}
	c.Setting = aggregate.Setting{Mechanism: s.Mechanism, Values: s.Values}
	var err error
	if c.Plan.Ask != nil {
		c.Votes, err = c.Plan.Ask(ctx, to-from)
	} else {
		c.Votes, err = c.Votes.Part(from, to)
	}
	return c, err
}

// on plans a new run on the rest of a ledger.
func (p Planning) on(ctx context.Context, before *run.Before, queries int) (plan.Alternative, error) {
	account := before.Config()
	p.Public.Queries = queries
	p.Goal.Epsilon, p.Goal.Delta, p.Goal.Accountant = account.Epsilon, account.Delta, account.Method()
	a, err := plan.ForLabels(ctx, p.Public, p.Goal, func(event func(noise float64) (accountant.Event, error)) (float64, error) {
		return before.LeastNoise(ctx, event)
	})
	var none *plan.NoPlanError
	if before.Fresh && errors.As(err, &none) {
		err = errors.Join(err, p.Public.Remedy(ctx, none))
	}
	return a, err
}
