package plan

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
)

// noiseShare is the vote noise of a steady plan as a share of the number of teachers. At
// 0.2 two noisy counts differ by 0.28 of all votes, one standard deviation, so that a gap of
// nine tenths is safe and a contested query is not. A lower share gives better labels and
// fewer of them. Students of development splits of MNIST, optdigits, Adult and letter were
// best about here, whatever the accuracy of their teachers: a plan for more labels, of
// teachers that are thought better than they are, loses more than it gains.
const noiseShare = 0.2

// MaxCount returns how many queries GNMax answers within a target, at noiseShare of this
// many teachers; 0 if one is too many.
func MaxCount(ctx context.Context, teachers int, target accountant.Target) (int64, error) {
	sigma := noiseShare * float64(teachers)
	n, err := accountant.Affordable(ctx, accountant.AutoConfig{Relation: accountant.AddRemove}.NewAccount, target, func(n int64) (accountant.Event, error) {
		return accountant.Repeated{Event: accountant.GNMax{Sigma: sigma, Discrete: true}, Count: n}, nil
	})
	if err != nil {
		return 0, fmt.Errorf("plan: %w", err)
	}
	return n, nil
}

// steady returns the plan that asks GNMax what is affordable at noiseShare, or all queries;
// false if it is not right often enough, or has too few labels.
func (p Public) steady(ctx context.Context, worlds []cases, goal Goal, budget aggregate.LeastNoise) (Alternative, bool, error) {
	n, err := MaxCount(ctx, p.Teachers, accountant.Target{Epsilon: goal.Epsilon, Delta: goal.Delta})
	if err != nil || n == 0 {
		return Alternative{}, false, err
	}
	s := aggregate.Setting{Mechanism: GNMax, Queries: int(math.Min(float64(n), float64(p.Queries)))}
	a, err := p.holds(ctx, worlds, s, goal, budget)
	return a, a.Queries > 0 && p.enough(a, goal), err
}
