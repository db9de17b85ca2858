package controls

import (
	"context"
	"errors"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/accountant/audit"
)

// claimer computes a claim; if it has a profile, at delta.
type claimer func(delta float64) (audit.Claim, error)

// stated claims fixed numbers.
func stated(epsilon, delta float64) claimer {
	return func(float64) (audit.Claim, error) { return audit.Claim{Epsilon: epsilon, Delta: delta}, nil }
}

// pure claims the largest loss of an event, and the failure probability beside it.
func pure(event accountant.Event) claimer {
	return func(float64) (audit.Claim, error) {
		loss, failure, err := accountant.Divergence(accountant.ReplaceOne, math.Inf(1), event)
		return audit.Claim{Epsilon: loss, Delta: failure}, err
	}
}

// profile claims the cost of an event at delta, by the better of two accountants.
func profile(event accountant.Event, relation accountant.Relation) claimer {
	return func(delta float64) (audit.Claim, error) {
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
}

// pureOrProfile claims the price of a mechanism without or with Gaussian noise.
func pureOrProfile(event accountant.Event, isPure bool) claimer {
	if isPure {
		return pure(event)
	}
	return profile(event, accountant.ReplaceOne)
}

// must is for the fixed configurations and laws of this package, whose errors are mistakes here.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
