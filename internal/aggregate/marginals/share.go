package marginals

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

// OfShare returns marginals of cfg, whose Sigma is not taken, that use a share of a budget: of
// its Rényi divergence, which is that of the inverse square of noise.
func OfShare(ctx context.Context, cfg Config, budget accountant.Target, share float64) (*Marginals, error) {
	if !(share > 0 && share <= 1) {
		return nil, fmt.Errorf("marginals: a share of %v, want one in (0, 1]", share)
	}
	whole, _, err := accountant.CalibrateNoise(ctx, accountant.TightConfig{Relation: cfg.Relation}.NewAccount, budget, func(sigma float64) (accountant.Event, error) {
		cfg.Sigma = sigma
		m, err := New(cfg)
		if err != nil {
			return nil, err
		}
		return m.Event(), nil
	})
	if err != nil {
		return nil, fmt.Errorf("marginals: noise: %w", err)
	}
	cfg.Sigma = whole / math.Sqrt(share)
	return New(cfg)
}

// Weights returns how likely each bin of each column is by counts with noise, of which those
// below zero say none; nil without counts.
func Weights(counts [][]int64) [][]float64 {
	if counts == nil {
		return nil
	}
	weights := make([][]float64, len(counts))
	for j, column := range counts {
		weights[j] = make([]float64, len(column))
		for b, n := range column {
			weights[j][b] = math.Max(0, float64(n))
		}
	}
	return weights
}
