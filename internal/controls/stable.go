package controls

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/stability"
)

// stableTargets returns releases of stable answers.
func stableTargets() []Target {
	laplace := stability.MStabConfig{Noise: stability.Laplace, Epsilon: 1, Delta: 1e-3, Questions: 1}
	gaussian := stability.MStabConfig{Noise: stability.Gaussian, Sigma: 1.5, Delta: 1e-3, Questions: 1}
	oneShot := stability.MStabConfig{Noise: stability.OneShot, Epsilon: 1, Delta: 1e-3, Questions: 1}
	return []Target{
		stableByLaw("m-stab", laplace), stableByRuns("m-stab", laplace, []int{17, 2}, []int{16, 3}),
		stableByLaw("m-stab-gaussian", gaussian), stableByRuns("m-stab-gaussian", gaussian, []int{12, 2}, []int{11, 3}),
		stableByLaw("m-stab-one-shot", oneShot), stableByRuns("m-stab-one-shot", oneShot, []int{11, 1}, []int{10, 2}),
		subsampled(),
	}
}

// stableClaim returns (epsilon, probability of failure), or for Gaussian noise a point of its profile
// beyond that.
func stableClaim(cfg stability.MStabConfig) claimer {
	return func(delta float64) (audit.Claim, error) {
		m, err := stability.NewMStab(cfg)
		if err != nil {
			return audit.Claim{}, err
		}
		return eventClaim(m.Event(), cfg.Noise != stability.Gaussian, max(delta, 2*cfg.Delta))
	}
}

// stableByLaw looks at every way few teachers can vote. Released answers differ where winners do.
func stableByLaw(name string, cfg stability.MStabConfig) Target {
	const teachers, classes = 14, 2
	return Target{Name: name, Method: ByLaw, On: fmt.Sprintf("all votes of %d teachers, %d classes", teachers, classes),
		audit: func(ctx context.Context, e effort) (audit.Finding, error) {
			m, err := stability.NewMStab(cfg)
			if err != nil {
				return audit.Finding{}, err
			}
			claim, err := stableClaim(cfg)(e.delta)
			if err != nil {
				return audit.Finding{}, err
			}
			return overVotes(ctx, claim, teachers, classes, func(counts []int) ([]float64, error) {
				winner, distance, err := stability.Plurality(counts, stability.VoteMoves, stability.LowestIndex)
				if err != nil {
					return nil, err
				}
				law := make([]float64, classes+1)
				for i := range law {
					law[i] = math.Inf(-1)
				}
				law[winner], law[classes] = m.Law(distance)
				return law, nil
			})
		}}
}

func stableByRuns(name string, cfg stability.MStabConfig, one, two []int) Target {
	ask := func(counts []int) side[stability.Answer[int]] {
		return func(key rng.Key, n int) (audit.Run[stability.Answer[int]], error) {
			m, err := stability.NewMStab(cfg)
			if err != nil {
				return nil, err
			}
			winner, distance, err := stability.Plurality(counts, stability.VoteMoves, stability.LowestIndex)
			if err != nil {
				return nil, err
			}
			return each(m.Event(), func(r *ledger.Reservation, key rng.Key) (a stability.Answer[int], err error) {
				s, err := stability.Start[int](m, r, key)
				if err != nil {
					return a, err
				}
				return s.Ask(0, winner, distance)
			})(key, n)
		}
	}
	return runs(name, fmt.Sprintf("%v and %v", one, two), 50_000, stableClaim(cfg), ask(one), ask(two))
}

// subsampled asks 15 parts of 30 numbers whether most are positive.
func subsampled() Target {
	cfg := stability.MStabConfig{Noise: stability.Laplace, Epsilon: 1, Delta: 0.01, Questions: 1}
	const records, parts = 30, 15
	ask := func(positive int) side[stability.Answer[bool]] {
		return func(key rng.Key, n int) (audit.Run[stability.Answer[bool]], error) {
			m, err := stability.NewMStab(cfg)
			if err != nil {
				return nil, err
			}
			data := make([]float64, records)
			for i := range data {
				data[i] = 1
				if i >= positive {
					data[i] = -2
				}
			}
			return each(m.Event(), func(r *ledger.Reservation, key rng.Key) (a stability.Answer[bool], err error) {
				s, err := stability.Start[bool](m, r, key)
				if err != nil {
					return a, err
				}
				split, err := stability.Disjoint(records, parts, key.Derive("split"))
				if err != nil {
					return a, err
				}
				return stability.SubsampleAggregate(context.Background(), s, 0, data, split, func(_ context.Context, part []float64) (bool, bool) {
					sum := 0.0
					for _, x := range part {
						sum += x
					}
					return sum > 0, true
				})
			})(key, n)
		}
	}
	claim := stableClaim(cfg)
	return runs("subsample-aggregate", "30 or 29 of 30 records positive", 10_000, claim, ask(records), ask(records-1))
}
