package tune

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/accountant"
)

// Price is the cost of choosing: the noise that a search needs beyond one run.
type Price struct {
	Law        Law
	Noise      float64 // the least with which the whole search meets the target
	Epsilon    float64 // of the search with Noise, at most the target's
	OneNoise   float64 // the least with which one run by itself meets the target
	OneEpsilon float64 // of one run with Noise; the rest of Epsilon pays for the choice
}

// Ratio returns Noise over OneNoise.
func (p Price) Ratio() float64 { return p.Noise / p.OneNoise }

// Noisy is an event by its noise.
type Noisy = func(noise float64) (accountant.Event, error)

// PriceOf returns the price of a search for a target; event is one run by its noise. The search is
// accounted by Rényi divergences, the only known ones, and one run by the tightest accountant, as without a
// search.
func PriceOf(ctx context.Context, l Law, relation accountant.Relation, target accountant.Target, event Noisy) (Price, error) {
	p := Price{Law: l}
	if err := l.Validate(); err != nil {
		return p, err
	}
	search := func(noise float64) (accountant.Event, error) {
		run, err := event(noise)
		if err != nil {
			return nil, err
		}
		return l.Event(run), nil
	}
	noise, bound, err := accountant.CalibrateNoise(ctx, accountant.RDPConfig{Relation: relation}.NewAccount, target, search)
	if err != nil {
		return p, fmt.Errorf("tune: noise of a search: %w", err)
	}
	p, err = PriceAt(ctx, l, relation, target, noise, event)
	p.Epsilon = bound.Upper
	return p, err
}

// PriceAt returns the price of a search with given noise, with which it costs target.Epsilon.
func PriceAt(ctx context.Context, l Law, relation accountant.Relation, target accountant.Target, noise float64, event Noisy) (Price, error) {
	p := Price{Law: l, Noise: noise, Epsilon: target.Epsilon}
	return p, p.compare(ctx, relation, target, event)
}

// compare fills in the noise and cost of one run.
func (p *Price) compare(ctx context.Context, relation accountant.Relation, target accountant.Target, event Noisy) error {
	tight := accountant.AutoConfig{Relation: relation}.NewAccount
	var err error
	if p.OneNoise, _, err = accountant.CalibrateNoise(ctx, tight, target, event); err != nil {
		return fmt.Errorf("tune: noise of one run: %w", err)
	}
	run, err := event(p.Noise)
	if err != nil {
		return err
	}
	account, err := tight()
	if err == nil {
		err = account.Compose(run, 1)
	}
	if err == nil {
		var bound accountant.Bound
		bound, err = account.Epsilon(ctx, target.Delta)
		p.OneEpsilon = bound.Upper
	}
	if err != nil {
		return fmt.Errorf("tune: cost of one run: %w", err)
	}
	return nil
}
