package controls

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/stability"
)

// numberTargets release numbers. Runs see them in buckets.
func numberTargets() []Target {
	laplace := stability.MeanConfig{Records: 4, Dimension: 1, Clip: 1, Noise: stability.Laplace, Epsilon: 1}
	gaussian := stability.MeanConfig{Records: 4, Dimension: 1, Clip: 1, Noise: stability.Gaussian, NoiseMultiplier: 1.5}
	return []Target{
		meanByRuns("mean-laplace", laplace, true),
		meanByRuns("mean-gaussian", gaussian, false),
		proposed(), smoothMedian(),
	}
}

// bucket rounds a number to a coarse grid; far away is one bucket.
func bucket(x, width, reach float64) int {
	return int(math.Round(min(reach, max(-reach, x)) / width))
}

func meanByRuns(name string, cfg stability.MeanConfig, isPure bool) Target {
	m := must(stability.NewMean(cfg))
	release := func(first float64) side[int] {
		data := []float64{first, 0.5, -0.5, 0}
		return each(m.Event(), func(r *ledger.Reservation, key rng.Key) (int, error) {
			x, err := m.Release(r, key, data)
			return bucket(x, 0.1, 3), err
		})
	}
	return runs(name, "[9 .5 -.5 0] and [-9 .5 -.5 0]", 50_000, pureOrProfile(m.Event(), isPure), release(9), release(-9))
}

// proposed returns the median of nine values close together, for a local sensitivity that holds around
// them. The middle value moves.
func proposed() Target {
	p := must(stability.NewPTR(stability.PTRConfig{Bound: 0.1, Epsilon: 0.5, TestEpsilon: 1, Delta: 0.05}))
	release := func(middle float64) side[string] {
		data := []float64{0.46, 0.47, 0.48, 0.49, middle, 0.56, 0.57, 0.58, 0.59}
		return each(p.Event(), func(r *ledger.Reservation, key rng.Key) (string, error) {
			a, err := stability.Propose(p, r, key, data, stability.Median(0, 1))
			if err != nil || !a.Released {
				return "refused", err
			}
			return fmt.Sprint(bucket(a.Value, 0.05, 2)), nil
		})
	}
	return runs("propose-test-release", "medians 0.49 and 0.56 of 9 values", 10_000, pure(p.Event()), release(0.49), release(0.56))
}

// smoothMedian has the least agreement there can be: the median is at either end, and one value decides. It
// is slow, because every release has noise of a scale of its own.
func smoothMedian() Target {
	cfg := stability.SmoothMedianConfig{Low: 0, High: 1, Epsilon: 1, Delta: 0.01}
	m := must(stability.NewSmoothMedian(cfg))
	release := func(middle float64) side[int] {
		data := []float64{0, 0, 0, 0, middle, 1, 1, 1, 1}
		return each(m.Event(), func(r *ledger.Reservation, key rng.Key) (int, error) {
			x, err := m.Release(r, key, data)
			return bucket(x, 0.5, 10), err
		})
	}
	return runs("smooth-median", "medians 0 and 1 of 9 values", 2_000, stated(cfg.Epsilon, cfg.Delta), release(0), release(1))
}
