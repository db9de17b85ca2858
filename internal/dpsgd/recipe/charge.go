package recipe

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/rng"
)

// relation of every account: DP-SGD is accounted for a record added or removed.
const relation = accountant.AddRemove

// ErrBudget is returned where no noise brings a plan within its epsilon: its statistics alone cost more.
var ErrBudget = errors.New("recipe: no noise is enough")

// ErrSpent is returned where a shared ledger has no budget left for a plan.
var ErrSpent = errors.New("recipe: the ledger has nothing left for a model")

// claim holds the conditions of a certified epsilon: a delta, and how many numbers were drawn from the
// discrete Gaussian law. Bounds of the privacy loss distribution are for the continuous law; a share of delta
// is kept for the difference.
type claim struct {
	delta float64
	draws int
}

const latticeShare = 1e-3 // of delta

// claim returns what a plan may cost.
func (p Plan) claim(s Shape, delta float64) (claim, error) {
	columns, err := p.Recipe.Columns(s)
	if err != nil {
		return claim{}, err
	}
	m, err := p.Recipe.newModel(s, columns, rng.SeedKey(0))
	if err != nil {
		return claim{}, err
	}
	draws := p.train(1).GaussianDraws(len(m.Parameters()))
	if _, ok := p.Recipe.learned(s); ok {
		draws += columns + features.Channels*(features.Channels+1)/2
	}
	return claim{delta, draws}, nil
}

// together returns the cost of all runs of all plans, with their rows, and the claim for this cost.
func (r *runner) together(rows []Row) (together claim, all accountant.Composed, err error) {
	together.delta = r.Delta
	for i, row := range rows {
		if row.Account == nil {
			continue
		}
		one, err := r.Plans[i].claim(r.shape, r.Delta)
		if err != nil {
			return claim{}, all, err
		}
		together.draws += one.draws * r.Seeds
		all.Events = append(all.Events, accountant.Repeated{Event: whole(row.Account.Events), Count: int64(r.Seeds)})
	}
	return together, all, nil
}

// continuous reports whether, about epsilon, the share is enough.
func (c claim) continuous(epsilon float64) bool {
	return dpsgd.LatticeDelta(c.draws, epsilon) <= latticeShare*c.delta
}

// calibrate returns the least noise for which the plan's charges, all in one composition, meet its epsilon.
func (c claim) calibrate(ctx context.Context, p Plan) (float64, error) {
	account, delta := accountant.PLDConfig{Relation: relation}.NewAccount, c.delta*(1-latticeShare)
	if !c.continuous(p.Epsilon) {
		account, delta = accountant.RDPConfig{Relation: relation}.NewAccount, c.delta
	}
	target := accountant.Target{Epsilon: p.Epsilon, Delta: delta}
	noise, _, err := accountant.CalibrateNoise(ctx, account, target, func(noise float64) (accountant.Event, error) {
		return p.Event(noise), nil
	})
	switch {
	case errors.Is(err, accountant.ErrNoBracket):
		return 0, fmt.Errorf("%w: %w", ErrBudget, err)
	case err != nil:
		return 0, fmt.Errorf("recipe: noise: %w", err)
	}
	return noise, nil
}

// epsilonOf returns the certified cost of an event: by the privacy loss distribution, and by Rényi
// divergences, which hold for discrete noise as it is, where epsilon is so large that the share of delta is
// not enough.
func (c claim) epsilonOf(ctx context.Context, e accountant.Event) (accountant.Bound, error) {
	var b accountant.Bound
	account, err := accountant.NewPLD(accountant.PLDConfig{Relation: relation})
	if err == nil {
		err = account.Compose(e, 1)
	}
	if err == nil {
		b, err = account.Epsilon(ctx, c.delta*(1-latticeShare))
	}
	if err != nil || c.continuous(b.Upper) {
		return b, wrapped(err)
	}
	bound, err := accountant.Epsilon(ctx, accountant.ByRDP, relation, c.delta, e)
	return bound.Bound, wrapped(err)
}

// ledgerBudget returns the budget of a ledger for these charges alone: its own total, with room for its
// rounding.
func ledgerBudget(events []accountant.Event, delta float64) (float64, error) {
	b, err := accountant.Epsilon(context.Background(), accountant.ByRDP, relation, delta, events...)
	if err != nil {
		return 0, wrapped(err)
	}
	const room = 1e-6
	budget := math.Max(b.Upper*(1+room), room)
	if math.IsInf(budget, 1) {
		return 0, errors.New("recipe: the noise is so small that no finite epsilon holds")
	}
	return budget, nil
}
