package experiments

import (
	"context"
	"fmt"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/number"
)

// relation of every account of a comparison. The cost of votes is the same when a record is replaced under
// its own unit id; DP-SGD's is not, so both are stated for add/remove.
const relation = accountant.AddRemove

// claimOf returns the cost of an event at delta by the tightest accountant, which needs everything reserved
// before the first draw.
func claimOf(ctx context.Context, e accountant.Event, delta float64) (accountant.Claim, error) {
	claim, err := accountant.Epsilon(ctx, accountant.ByAuto, relation, delta, e)
	if err != nil {
		return accountant.Claim{}, fmt.Errorf("experiments: %w", err)
	}
	return claim, nil
}

// epsilonOf returns the cost of an event at delta by Rényi divergences, which hold for the integer noise of
// DP-SGD.
func epsilonOf(e accountant.Event, delta float64) (accountant.Bound, error) {
	b, err := accountant.Epsilon(context.Background(), accountant.ByRDP, relation, delta, e)
	if err != nil {
		return accountant.Bound{}, fmt.Errorf("experiments: %w", err)
	}
	return b.Bound, nil
}

// calibrate returns the least noise whose event, with the cost of the pool, meets the target.
func calibrate(ctx context.Context, c point, event func(noise float64) (accountant.Event, error)) (float64, error) {
	target := accountant.Target{Epsilon: c.epsilon, Delta: c.Delta}
	account := accountant.AutoConfig{Relation: relation}.NewAccount
	noise, _, err := accountant.CalibrateNoise(ctx, account, target, func(noise float64) (accountant.Event, error) {
		e, err := event(noise)
		return c.withPool(e), err
	})
	return noise, err
}

// withPool returns an event with the cost of the pool before it.
func (c point) withPool(e accountant.Event) accountant.Event {
	if c.marginals == nil || e == nil {
		return e
	}
	return accountant.Composed{Events: append([]accountant.Event{c.marginals.Event()}, partsOf(e)...)}
}

func partsOf(e accountant.Event) []accountant.Event {
	if c, ok := e.(accountant.Composed); ok {
		return c.Events
	}
	return []accountant.Event{e}
}

// charge fills the privacy columns of a row from the reserved event and the cost of the pool.
func (r *Row) charge(ctx context.Context, e accountant.Event, c point) error {
	e = c.withPool(e)
	claim, err := claimOf(ctx, e, c.Delta)
	if err != nil {
		return err
	}
	bound, err := epsilonOf(e, c.Delta)
	if err != nil {
		return err
	}
	epsilon := claim.Upper
	r.Epsilon, r.Accountant, r.Releasable = &epsilon, claim.By, c.releasable()
	parts := partsOf(e)
	r.Account = &accountant.Schedule{Relation: relation, Events: parts}
	r.Charged, err = shares(parts, bound.Order)
	return err
}

// shares divides a cost among events by their Rényi divergences at an order.
func shares(events []accountant.Event, order float64) ([]Charge, error) {
	total := 0.0
	charged := make([]Charge, len(events))
	for i, e := range events {
		divergence, _, err := accountant.Divergence(relation, order, e)
		if err != nil {
			return nil, fmt.Errorf("experiments: %w", err)
		}
		charged[i].Event, charged[i].Count = describe(e)
		charged[i].Share = divergence
		total += divergence
	}
	for i := range charged {
		charged[i].Share /= total
	}
	return charged, nil
}

// describe names an event in words, with its number of runs.
func describe(e accountant.Event) (string, int64) {
	parts := accountant.Describe(e,
		func(x float64) string { return number.Digits(x, 4) },
		func(x float64) string { return number.DigitsUp(x, 4) })
	names, runs := make([]string, len(parts)), int64(1)
	for i, p := range parts {
		names[i], runs = strings.TrimSuffix(p.Mechanism+", "+p.Parameters, ", "), p.Count
	}
	if len(parts) != 1 {
		runs = 1
	}
	return strings.Join(names, " and "), runs
}
