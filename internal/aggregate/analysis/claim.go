package analysis

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
)

// drawn returns the mechanism that package aggregate would run.
func drawn[M aggregate.Mechanism](m M, err error) (aggregate.Mechanism, error) {
	if err != nil {
		return nil, err // and no typed nil
	}
	return m, nil
}

func (m GNMax) run(queries, _ int) (aggregate.Mechanism, error) {
	return drawn(aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: m.Sigma, Queries: queries}))
}

func (m ConfidentGNMax) run(queries, answers int) (aggregate.Mechanism, error) {
	return drawn(aggregate.NewConfidentGNMax(aggregate.ConfidentGNMaxConfig{
		Threshold: m.Threshold, Sigma1: m.Sigma1, Sigma2: m.Sigma2, Queries: queries, Answers: max(1, answers)}))
}

func (m LNMax) run(queries, _ int) (aggregate.Mechanism, error) {
	return drawn(aggregate.NewLNMax(aggregate.LNMaxConfig{Scale: m.Scale, Queries: queries}))
}

// claim returns what a ledger of mode reserved claims for a run with these caps, whatever the
// votes are: by the accountant that proves least, for the integer noise that is drawn. Nil
// where package aggregate draws no such noise.
func claim(ctx context.Context, m Mechanism, queries, answers int, delta float64) (*accountant.Claim, error) {
	run, err := m.run(queries, answers)
	if err != nil {
		return nil, nil
	}
	c, err := accountant.Epsilon(ctx, accountant.ByAuto, accountant.AddRemove, delta, run.Event())
	if err != nil {
		return nil, fmt.Errorf("analysis: %w", err)
	}
	return &c, nil
}
