package recipe

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

// relation of every account: DP-SGD with Poisson sampling is accounted for a record
// added or removed.
const relation = accountant.AddRemove

// ErrBudget is returned where no noise brings a plan within its epsilon: its statistics
// alone cost more.
var ErrBudget = errors.New("recipe: no noise is enough")

// ErrSpent is returned where a shared ledger has no budget left for a plan.
var ErrSpent = errors.New("recipe: the ledger has nothing left for a model")

func newPLD() (accountant.Accountant, error) {
	return accountant.PLDConfig{Relation: relation}.NewAccount()
}

// calibrate is the least noise for which the plan's charges, all in one composition,
// meet the target.
func calibrate(ctx context.Context, p Plan, delta float64) (float64, error) {
	target := accountant.Target{Epsilon: p.Epsilon, Delta: delta}
	noise, _, err := accountant.CalibrateNoise(ctx, newPLD, target, func(noise float64) accountant.Event { return whole(p.events(noise)) })
	switch {
	case errors.Is(err, accountant.ErrNoBracket):
		return 0, fmt.Errorf("%w: %w", ErrBudget, err)
	case err != nil:
		return 0, fmt.Errorf("recipe: noise: %w", err)
	}
	return noise, nil
}

// epsilonOf is the certified cost of an event.
func epsilonOf(ctx context.Context, e accountant.Event, delta float64) (accountant.Bound, error) {
	account, err := accountant.NewPLD(accountant.PLDConfig{Relation: relation})
	if err != nil {
		return accountant.Bound{}, fmt.Errorf("recipe: %w", err)
	}
	if err := account.Compose(e, 1); err != nil {
		return accountant.Bound{}, fmt.Errorf("recipe: %w", err)
	}
	b, err := account.EpsilonContext(ctx, delta)
	if err != nil {
		return accountant.Bound{}, fmt.Errorf("recipe: %w", err)
	}
	return b.Bound, nil
}

// ledgerBudget is the budget of a ledger that holds these charges and no more: the
// ledger's own total, with room for its rounding.
func ledgerBudget(events []accountant.Event, delta float64) (float64, error) {
	account, err := accountant.NewRDP(accountant.Config{Relation: relation})
	if err != nil {
		return 0, fmt.Errorf("recipe: %w", err)
	}
	for _, e := range events {
		if err := account.Compose(e, 1); err != nil {
			return 0, fmt.Errorf("recipe: %w", err)
		}
	}
	b, err := account.Epsilon(delta)
	if err != nil {
		return 0, fmt.Errorf("recipe: %w", err)
	}
	const room = 1e-6
	budget := math.Max(b.Upper*(1+room), room)
	if math.IsInf(budget, 1) {
		return 0, errors.New("recipe: the noise is so small that no finite epsilon holds")
	}
	return budget, nil
}
