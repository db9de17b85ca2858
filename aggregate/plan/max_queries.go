package plan

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
)

// MaxQueries returns how many queries, at most, a new ledger would take of a setting: with its noise, and
// with a cap on answers in the same proportion; 0 if not one. Mode Filter lets others charge later what
// they choose by earlier answers, for which Rényi divergences at orders fixed in advance are the bound that
// holds; mode Reserved may claim by privacy loss distributions.
func MaxQueries(ctx context.Context, s aggregate.Setting, cfg ledger.Config) (int, error) {
	d, err := described(s.Mechanism)
	if err != nil {
		return 0, err
	}
	s = d.Complete(s)
	fits := func(queries int) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		part := s
		part.Queries = queries
		if _, capped := s.Values["answers"]; capped {
			share := float64(queries) / float64(s.Queries)
			part = part.With("answers", min(math.Ceil(s.Values["answers"]*share), float64(queries)))
		}
		e, err := d.Event(part)
		if err != nil {
			return false, fmt.Errorf("plan: %w", err)
		}
		book, err := ledger.New(cfg)
		if err != nil {
			return false, fmt.Errorf("plan: %w", err)
		}
		err = book.Try(e)
		var over *ledger.BudgetError
		if errors.As(err, &over) {
			return false, nil
		}
		return err == nil, err
	}
	// Invariant: low fits, high does not or is beyond.
	low, high := 0, maxCarried+1
	for next := min(s.Queries, maxCarried); high-low > 1; {
		ok, err := fits(next)
		if err != nil {
			return 0, err
		}
		if ok {
			low = next
		} else {
			high = next
		}
		next = low + (high-low)/2
		if high > maxCarried { // near where it began
			next = min(low+low/4+1, maxCarried)
		}
	}
	return low, nil
}

// maxCarried is more queries than anybody labels.
const maxCarried = 1 << 30

// noiseShare is the vote noise of a steady plan as a share of the number of teachers. At 0.2 two noisy
// counts differ by 0.28 of all votes, one standard deviation, so that a gap of nine tenths is safe and a
// contested query is not. Students of development splits of MNIST, optdigits, Adult and letter were best
// about here, whatever the accuracy of their teachers.
const noiseShare = 0.2

// MaxCount returns how many queries GNMax answers within a target, at noiseShare of this many teachers; 0
// if one is too many.
func MaxCount(ctx context.Context, teachers int, target accountant.Target) (int64, error) {
	sigma := noiseShare * float64(teachers)
	event := func(n int64) (accountant.Event, error) {
		return accountant.Repeated{Event: accountant.GNMax{Sigma: sigma, Discrete: true}, Count: n}, nil
	}
	n, err := accountant.Affordable(ctx, accountant.AutoConfig{Relation: accountant.AddRemove}.NewAccount, target, event)
	if err != nil {
		return 0, fmt.Errorf("plan: %w", err)
	}
	return n, nil
}

// steady returns the plan that asks GNMax as often as noiseShare affords, or all queries; false if it is
// not right often enough, or has too few labels.
func (p Public) steady(ctx context.Context, worlds []cases, goal Goal, budget aggregate.LeastNoise) (Alternative, bool, error) {
	n, err := MaxCount(ctx, p.Teachers, accountant.Target{Epsilon: goal.Epsilon, Delta: goal.Delta})
	if err != nil || n == 0 {
		return Alternative{}, false, err
	}
	s := aggregate.Setting{Mechanism: GNMax, Queries: int(math.Min(float64(n), float64(p.Queries)))}
	a, err := p.holds(ctx, worlds, s, goal, budget)
	return a, a.Queries > 0 && p.enough(a, goal), err
}
