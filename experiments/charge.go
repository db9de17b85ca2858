package experiments

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/accountant"
)

// relation of every account of a comparison. PATE's votes cost the same when a
// record is replaced under its own unit id; DP-SGD does not, so both are stated
// for add/remove.
const relation = accountant.AddRemove

// epsilonOf is the cost of an event at delta.
func epsilonOf(e accountant.Event, delta float64) (accountant.Bound, error) {
	account, err := accountant.NewRDP(accountant.Config{Relation: relation})
	if err != nil {
		return accountant.Bound{}, fmt.Errorf("experiments: %w", err)
	}
	if err := account.Compose(e, 1); err != nil {
		return accountant.Bound{}, fmt.Errorf("experiments: %w", err)
	}
	b, err := account.Epsilon(delta)
	if err != nil {
		return accountant.Bound{}, fmt.Errorf("experiments: %w", err)
	}
	return b, nil
}

// calibrate is the least noise whose event meets the target.
func calibrate(ctx context.Context, c Config, event func(noise float64) accountant.Event) (float64, error) {
	target := accountant.Target{Epsilon: c.Epsilon, Delta: c.Delta}
	noise, _, err := accountant.CalibrateNoise(ctx, accountant.Config{Relation: relation}.NewAccount, target, event)
	return noise, err
}

// charge fills the privacy columns of a row from what was reserved.
func (r *Row) charge(e accountant.Event, c Config) error {
	bound, err := epsilonOf(e, c.Delta)
	if err != nil {
		return err
	}
	epsilon := bound.Upper
	r.Epsilon, r.Releasable = &epsilon, c.Key.Releasable()
	parts := []accountant.Event{e}
	if c, ok := e.(accountant.Composed); ok {
		parts = c.Events
	}
	r.Account = &accountant.Schedule{Relation: relation, Events: parts}
	total := 0.0
	r.Charged = make([]Charge, len(parts))
	for i, part := range parts {
		account, err := accountant.NewRDP(accountant.Config{Relation: relation})
		if err != nil {
			return fmt.Errorf("experiments: %w", err)
		}
		if err := account.Compose(part, 1); err != nil {
			return fmt.Errorf("experiments: %w", err)
		}
		rdp, _, err := account.RDP([]float64{bound.Order})
		if err != nil {
			return fmt.Errorf("experiments: %w", err)
		}
		r.Charged[i].Event, r.Charged[i].Count = describe(part)
		r.Charged[i].Share = rdp[0]
		total += rdp[0]
	}
	for i := range r.Charged {
		r.Charged[i].Share /= total
	}
	return nil
}

// describe names an event in words, and how often it was run.
func describe(e accountant.Event) (string, int64) {
	switch e := e.(type) {
	case accountant.Repeated:
		name, n := describe(e.Event)
		return name, n * e.Count
	case accountant.GNMax:
		return fmt.Sprintf("noisy argmax, σ %.4g", e.Sigma), 1
	case accountant.Threshold:
		return fmt.Sprintf("threshold test, σ %.4g", e.Sigma), 1
	case accountant.PoissonSampled:
		inner, n := describe(e.Event)
		return fmt.Sprintf("%s on a Poisson sample, q %.4g", inner, e.Probability), n
	case accountant.Gaussian:
		return fmt.Sprintf("clipped sum, noise ×%.4g", e.NoiseMultiplier), 1
	case accountant.WithFailure:
		inner, n := describe(e.Event)
		return fmt.Sprintf("%s, δ %.2g for what is released and should not be", inner, e.Delta), n
	case accountant.DiscreteGaussian:
		return fmt.Sprintf("test of a distance, σ %.4g", e.Sigma), 1
	case accountant.PureDP:
		return fmt.Sprintf("test of distances, ε %.4g", e.Epsilon), 1
	case accountant.StableSVT:
		return fmt.Sprintf("stable sparse vector, noise %.4g and %.4g, %d refusals", e.B1, e.B2, e.Failures), 1
	default:
		return fmt.Sprintf("%T", e), 1
	}
}
