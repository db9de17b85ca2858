package controls

import (
	"context"
	"fmt"
	"math"
	"slices"

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
	return append(slices.Concat(
		stable("m-stab", laplace, []int{17, 2}, []int{16, 3}),
		stable("m-stab-gaussian", gaussian, []int{12, 2}, []int{11, 3}),
		stable("m-stab-one-shot", oneShot, []int{11, 1}, []int{10, 2}),
	), subsampled())
}

// stableClaim returns (epsilon, probability of failure), or for Gaussian noise a point of its profile
// beyond that.
func stableClaim(cfg stability.MStabConfig) claimer {
	claim := pureOrProfile(must(stability.NewMStab(cfg)).Event(), cfg.Noise != stability.Gaussian)
	return func(delta float64) (audit.Claim, error) { return claim(max(delta, 2*cfg.Delta)) }
}

// stable audits by law every way in which few teachers can vote, where released answers differ if winners
// do, and by runs two ways.
func stable(name string, cfg stability.MStabConfig, one, two []int) []Target {
	const teachers, classes = 14, 2
	m := must(stability.NewMStab(cfg))
	winner := func(counts []int) (int, int64) {
		w, distance, err := stability.Plurality(counts, stability.VoteMoves, stability.LowestIndex)
		return must(w, err), distance
	}
	law := byLaw(name, fmt.Sprintf("all votes of %d teachers, %d classes", teachers, classes), stableClaim(cfg),
		overVotes(teachers, classes, func(counts []int) []float64 {
			w, distance := winner(counts)
			law := slices.Repeat([]float64{math.Inf(-1)}, classes+1)
			law[w], law[classes] = m.Law(distance)
			return law
		}))
	ask := func(counts []int) side[stability.Answer[int]] {
		w, distance := winner(counts)
		return each(m.Event(), func(r *ledger.Reservation, key rng.Key) (a stability.Answer[int], err error) {
			s, err := stability.Start[int](m, r, key)
			if err != nil {
				return a, err
			}
			return s.Ask(0, w, distance)
		})
	}
	return []Target{law, runs(name, fmt.Sprintf("%v and %v", one, two), 50_000, stableClaim(cfg), ask(one), ask(two))}
}

// subsampled asks 15 parts of 30 numbers whether most are positive.
func subsampled() Target {
	cfg := stability.MStabConfig{Noise: stability.Laplace, Epsilon: 1, Delta: 0.01, Questions: 1}
	const records, parts = 30, 15
	m := must(stability.NewMStab(cfg))
	ask := func(positive int) side[stability.Answer[bool]] {
		data := append(slices.Repeat([]float64{1}, positive), slices.Repeat([]float64{-2}, records-positive)...)
		return each(m.Event(), func(r *ledger.Reservation, key rng.Key) (a stability.Answer[bool], err error) {
			s, err := stability.Start[bool](m, r, key)
			if err != nil {
				return a, err
			}
			split, err := stability.Disjoint(records, parts, key.Derive("split"))
			if err != nil {
				return a, err
			}
			mostPositive := func(_ context.Context, part []float64) (bool, bool) {
				sum := 0.0
				for _, x := range part {
					sum += x
				}
				return sum > 0, true
			}
			return stability.SubsampleAggregate(context.Background(), s, 0, data, split, mostPositive)
		})
	}
	return runs("subsample-aggregate", "30 or 29 of 30 records positive", 10_000, stableClaim(cfg), ask(records), ask(records-1))
}
