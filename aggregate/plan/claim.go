package plan

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/number"
)

// claim fills in what the setting costs.
func (a *Alternative) claim(ctx context.Context, by accountant.Method, delta float64) error {
	e, err := known(a.Mechanism).Event(a.Setting)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	claim, err := accountant.Epsilon(ctx, by, accountant.AddRemove, delta, e)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	a.Epsilon, a.By = claim.Upper, claim.By
	return nil
}

// least finds the least noise that keeps the goal.
func (g Goal) least(ctx context.Context) aggregate.LeastNoise {
	return func(event func(float64) (accountant.Event, error)) (float64, error) {
		noise, _, err := accountant.CalibrateNoise(ctx, accountant.AutoConfig{Relation: accountant.AddRemove, Method: g.Accountant}.NewAccount,
			accountant.Target{Epsilon: g.Epsilon, Delta: g.Delta}, event)
		return noise, err
	}
}

// equivalent returns the goal with the epsilon that, by Rényi divergences alone, takes as little noise of
// GNMax as the budget does: searches try thousands of settings, and privacy loss distributions take a tenth
// of a second. False: the budget takes nothing.
func (g Goal) equivalent(queries int, budget aggregate.LeastNoise) (Goal, bool, error) {
	g.Accountant = accountant.ByRDP
	d := known(GNMax)
	s := aggregate.Setting{Mechanism: GNMax, Queries: min(queries, 100)}
	noise, err := d.Least(s, budget)
	if errors.Is(err, accountant.ErrNoBracket) {
		return g, false, nil
	}
	if err != nil {
		return g, false, fmt.Errorf("plan: %w", err)
	}
	a := Alternative{Setting: d.WithNoise(s, noise)}
	err = a.claim(context.Background(), accountant.ByRDP, g.Delta)
	g.Epsilon = a.Epsilon
	return g, err == nil && g.Epsilon > 0 && !math.IsInf(g.Epsilon, 1), err
}

// unspent is the share of epsilon that a plan may leave.
const unspent = 1e-4

// within evaluates a setting at the whole of a goal: its noise was scaled, or found by another accountant.
// Log epsilon is nearly linear in log noise, so that a secant takes a few claims.
func (c cases) within(ctx context.Context, s aggregate.Setting, goal Goal) (Alternative, error) {
	d := known(s.Mechanism)
	const enough, most = 5, 30 // claims, once one was in the budget and at all
	var best Alternative
	var lastAt, lastMiss float64
	at, slope := 0.0, -1.2 // log of the noise over that of s; of Gaussian noise between -1 and -2
	for tries := 0; ; tries++ {
		a := Alternative{Setting: scaled(d, s, math.Exp(at))}
		if err := a.claim(ctx, goal.Accountant, goal.Delta); err != nil {
			return Alternative{}, err
		}
		miss := max(math.Log(a.Epsilon/goal.Epsilon), -30) // finite where nothing is spent
		if miss <= 0 && (best.Queries == 0 || a.Epsilon > best.Epsilon) {
			best = a
		}
		if best.Queries > 0 && (best.Epsilon >= goal.Epsilon*(1-unspent) || tries >= enough) {
			break
		}
		if tries == most || math.IsNaN(miss) {
			return Alternative{}, fmt.Errorf("plan: %s costs epsilon %g, the goal is %g", s.Mechanism, a.Epsilon, goal.Epsilon)
		}
		if tries > 0 && at != lastAt {
			slope = min(max((miss-lastMiss)/(at-lastAt), -4), -0.5)
		}
		lastAt, lastMiss = at, miss
		at += min(max((-unspent/4-miss)/slope, -1), 1)
	}
	out, err := c.expect(ctx, best.Setting)
	out.Epsilon, out.By = best.Epsilon, best.By
	return out, err
}

// scaled returns a setting with its noise times a factor, rounded up to six digits, as commands print it.
func scaled(d aggregate.Description, s aggregate.Setting, factor float64) aggregate.Setting {
	for _, p := range d.Noise() {
		s = s.With(p.Name, min(max(number.Up(s.Values[p.Name]*factor, 6), p.Min), p.Max))
	}
	return s
}

// calibrated returns the setting with the noise, one parameter, that these queries need.
func calibrated(ctx context.Context, mechanism string, queries int, goal Goal) (aggregate.Setting, error) {
	s := aggregate.Setting{Mechanism: mechanism, Queries: queries}
	d := known(mechanism)
	noise, err := d.Least(s, goal.least(ctx))
	if err != nil {
		return s, fmt.Errorf("plan: %w", err)
	}
	return d.WithNoise(s, noise), nil
}

// fit returns a setting with the least noise, in the proportions it has, that the budget takes, in numbers
// of six digits: the upper end of a claim by privacy loss distributions may rise a little where noise is
// rounded up. False: no noise is enough.
func fit(s aggregate.Setting, budget aggregate.LeastNoise) (aggregate.Setting, bool, error) {
	d, bare := known(s.Mechanism), s
	proportions := d
	bare.Values, proportions.Parameters = nil, nil
	for _, q := range d.Parameters {
		if v, given := s.Values[q.Name]; q.Kind == "noise" {
			q.Ratio = v
		} else if given {
			bare = bare.With(q.Name, v)
		}
		proportions.Parameters = append(proportions.Parameters, q)
	}
	at := func(noise float64) aggregate.Setting { return scaled(d, proportions.WithNoise(bare, noise), 1) }
	noise, err := budget.Find(func(noise float64) (accountant.Event, error) { return d.Event(at(noise)) })
	if errors.Is(err, accountant.ErrNoBracket) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("plan: %w", err)
	}
	fitted := at(noise)
	return fitted, d.MostNoise(fitted) <= maxPlannedNoise, nil
}
