package controls

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/stability"
)

func mechanismTargets() []Target {
	const teachers, classes = 10, 3
	var all []Target
	for _, d := range mechanisms.All() {
		one, two := d.Neighbours[0], d.Neighbours[1]
		if one == nil {
			continue
		}
		mechanism := func(queries int) (aggregate.Mechanism, error) {
			s := d.Audit
			s.Queries = queries
			return d.New(d.Complete(s))
		}
		m := must(mechanism(1))
		claim := pureOrProfile(m.Event(), d.Pure)
		law := func(counts []int) []float64 {
			law := must(m.Law(must(aggregate.NewHistogram(counts))))
			return append(law.LogLabels, law.LogDeclined)
		}
		all = append(all,
			byLaw(d.Name, fmt.Sprintf("all votes of %d teachers, %d classes", teachers, classes), claim, overVotes(teachers, classes, law)),
			runs(d.Name, fmt.Sprintf("%v and %v", one, two), 100_000, claim, asked(mechanism, one), asked(mechanism, two)))
	}
	return all
}

func asked(mechanism func(n int) (aggregate.Mechanism, error), counts []int) side[aggregate.Answer] {
	return func(key rng.Key, n int) audit.Run[aggregate.Answer] {
		m := must(mechanism(n))
		session := must(m.Start((&reservations{accountant.ReplaceOne, m.Event(), 1, nil}).take(), key))
		h := must(aggregate.NewHistogram(counts))
		return func(i uint64) (aggregate.Answer, error) { return session.Ask(i, h) }
	}
}

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

func stableClaim(cfg stability.MStabConfig) claimer {
	claim := pureOrProfile(must(stability.NewMStab(cfg)).Event(), cfg.Noise != stability.Gaussian)
	return func(delta float64) (audit.Claim, error) { return claim(max(delta, 2*cfg.Delta)) }
}

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
		return each(accountant.ReplaceOne, m.Event(), func(r *ledger.Reservation, key rng.Key) (a stability.Answer[int], err error) {
			s, err := stability.Start[int](m, r, key)
			if err != nil {
				return a, err
			}
			return s.Ask(0, w, distance)
		})
	}
	return []Target{law, runs(name, fmt.Sprintf("%v and %v", one, two), 50_000, stableClaim(cfg), ask(one), ask(two))}
}

func subsampled() Target {
	cfg := stability.MStabConfig{Noise: stability.Laplace, Epsilon: 1, Delta: 0.01, Questions: 1}
	const records, parts = 30, 15
	m := must(stability.NewMStab(cfg))
	ask := func(positive int) side[stability.Answer[bool]] {
		data := append(slices.Repeat([]float64{1}, positive), slices.Repeat([]float64{-2}, records-positive)...)
		return each(accountant.ReplaceOne, m.Event(), func(r *ledger.Reservation, key rng.Key) (a stability.Answer[bool], err error) {
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

func numberTargets() []Target {
	laplace := stability.MeanConfig{Records: 4, Dimension: 1, Clip: 1, Noise: stability.Laplace, Epsilon: 1}
	gaussian := stability.MeanConfig{Records: 4, Dimension: 1, Clip: 1, Noise: stability.Gaussian, NoiseMultiplier: 1.5}
	return []Target{
		meanByRuns("mean-laplace", laplace, true),
		meanByRuns("mean-gaussian", gaussian, false),
		proposed(), smoothMedian(),
	}
}

func bucket(x, width, reach float64) int {
	return int(math.Round(min(reach, max(-reach, x)) / width))
}

func meanByRuns(name string, cfg stability.MeanConfig, isPure bool) Target {
	m := must(stability.NewMean(cfg))
	release := func(first float64) side[int] {
		data := []float64{first, 0.5, -0.5, 0}
		return each(accountant.ReplaceOne, m.Event(), func(r *ledger.Reservation, key rng.Key) (int, error) {
			x, err := m.Release(r, key, data)
			return bucket(x, 0.1, 3), err
		})
	}
	return runs(name, "[9 .5 -.5 0] and [-9 .5 -.5 0]", 50_000, pureOrProfile(m.Event(), isPure), release(9), release(-9))
}

func proposed() Target {
	p := must(stability.NewPTR(stability.PTRConfig{Bound: 0.1, Epsilon: 0.5, TestEpsilon: 1, Delta: 0.05}))
	release := func(middle float64) side[string] {
		data := []float64{0.46, 0.47, 0.48, 0.49, middle, 0.56, 0.57, 0.58, 0.59}
		return each(accountant.ReplaceOne, p.Event(), func(r *ledger.Reservation, key rng.Key) (string, error) {
			a, err := stability.Propose(p, r, key, data, stability.Median(0, 1))
			if err != nil || !a.Released {
				return "refused", err
			}
			return fmt.Sprint(bucket(a.Value, 0.05, 2)), nil
		})
	}
	return runs("propose-test-release", "medians 0.49 and 0.56 of 9 values", 10_000, pure(p.Event()), release(0.49), release(0.56))
}

// smoothMedian audits data with the largest sensitivity: one value moves the median across the whole range.
func smoothMedian() Target {
	cfg := stability.SmoothMedianConfig{Low: 0, High: 1, Epsilon: 1, Delta: 0.01}
	m := must(stability.NewSmoothMedian(cfg))
	release := func(middle float64) side[int] {
		data := []float64{0, 0, 0, 0, middle, 1, 1, 1, 1}
		return each(accountant.ReplaceOne, m.Event(), func(r *ledger.Reservation, key rng.Key) (int, error) {
			x, err := m.Release(r, key, data)
			return bucket(x, 0.5, 10), err
		})
	}
	return runs("smooth-median", "medians 0 and 1 of 9 values", 2_000, stated(cfg.Epsilon, cfg.Delta), release(0), release(1))
}
