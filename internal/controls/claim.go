package controls

import (
	"context"
	"errors"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/accountant/audit"
)

// claimAt returns what an event costs at delta, by the better of two accountants.
func claimAt(event accountant.Event, relation accountant.Relation, delta float64) (audit.Claim, error) {
	best := math.Inf(1)
	for _, open := range []func() (accountant.Accountant, error){
		accountant.RDPConfig{Relation: relation}.NewAccount, accountant.PLDConfig{Relation: relation}.NewAccount,
	} {
		account, err := open()
		if err != nil {
			return audit.Claim{}, err
		}
		if err := account.Compose(event, 1); errors.Is(err, accountant.ErrUnsupportedEvent) {
			continue
		} else if err != nil {
			return audit.Claim{}, err
		}
		bound, err := account.Epsilon(context.Background(), delta)
		if err != nil {
			return audit.Claim{}, err
		}
		best = min(best, bound.Upper)
	}
	return audit.Claim{Epsilon: best, Delta: delta}, nil
}

// pureClaim returns the largest loss of an event, and the failure probability beside it.
func pureClaim(event accountant.Event, relation accountant.Relation) (audit.Claim, error) {
	loss, failure, err := accountant.Divergence(relation, math.Inf(1), event)
	if err != nil {
		return audit.Claim{}, err
	}
	return audit.Claim{Epsilon: loss, Delta: failure}, nil
}

// claimer computes a claim; of those that have a profile, at delta.
type claimer func(delta float64) (audit.Claim, error)

func stated(epsilon, delta float64) claimer {
	return func(float64) (audit.Claim, error) { return audit.Claim{Epsilon: epsilon, Delta: delta}, nil }
}
