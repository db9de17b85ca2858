package tune

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/accountant"
)

// Price is what choosing costs: noise that a search needs and one run does not.
type Price struct {
	Law Law
	// Noise is the least with which the whole search meets the target; Epsilon is what the search then
	// costs, at most the target's.
	Noise, Epsilon float64
	// OneNoise is the least with which one run by itself meets the target.
	OneNoise float64
	// OneEpsilon is what one run with Noise costs; the rest of Epsilon pays for the choice.
	OneEpsilon float64
}

// Ratio returns how many times the noise of one run a search has.
func (p Price) Ratio() float64 { return p.Noise / p.OneNoise }

// PriceOf returns the price of a search for a target; event is one run by its noise. The search is
// accounted by Rényi divergences, the only ones that are known of it, and one run by whatever proves least,
// as it would be without a search.
func PriceOf(ctx context.Context, l Law, relation accountant.Relation, target accountant.Target, event func(noise float64) (accountant.Event, error)) (Price, error) {
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

// PriceAt returns the price of a search whose noise is settled, and which costs target.Epsilon with it.
func PriceAt(ctx context.Context, l Law, relation accountant.Relation, target accountant.Target, noise float64, event func(noise float64) (accountant.Event, error)) (Price, error) {
	p := Price{Law: l, Noise: noise, Epsilon: target.Epsilon}
	return p, p.compare(ctx, relation, target, event)
}

// compare fills in what one run would have and cost.
func (p *Price) compare(ctx context.Context, relation accountant.Relation, target accountant.Target, event func(noise float64) (accountant.Event, error)) error {
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
	if err != nil {
		return fmt.Errorf("tune: cost of one run: %w", err)
	}
	bound, err := account.Epsilon(ctx, target.Delta)
	if err != nil {
		return fmt.Errorf("tune: cost of one run: %w", err)
	}
	p.OneEpsilon = bound.Upper
	return nil
}
