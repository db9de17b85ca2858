package controls

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/svt"
)

// brokenLaw is a sparse vector that was published and is not private (Lyu, Su, Li 2017), and the pair of
// inputs that shows it.
type brokenLaw struct {
	name, mistake string
	epsilon       float64 // claimed
	law           svt.Law
	one, two      []float64
	runs          int
}

func brokenLaws() []brokenLaw {
	laplace := func(scale float64) svt.Noise { return svt.Noise{Kind: svt.Laplace, Scale: scale} }
	return []brokenLaw{
		{"svt-no-query-noise", "no noise on the queries (as Stoddard et al. 2014)", 1,
			svt.Law{ThresholdNoise: laplace(2)},
			[]float64{0, 1}, []float64{1, 0}, 2_000},
		{"svt-no-cutoff", "no stop after answers above (as Chen et al. 2015)", 1,
			svt.Law{ThresholdNoise: laplace(2), QueryNoise: laplace(2)},
			[]float64{0, 0, 0, 0, 0, 0, 0, 0}, []float64{1, 1, 1, 1, -1, -1, -1, -1}, 40_000},
		{"svt-noise-not-scaled", "noise does not grow with the 4 answers (as Lee, Clifton 2014)", 1,
			svt.Law{ThresholdNoise: laplace(4), QueryNoise: laplace(4.0 / 3), Stop: 4},
			[]float64{0, 0, 0, 0, 1, 1, 1, 1}, []float64{1, 1, 1, 1, 0, 0, 0, 0}, 40_000},
		{"svt-charged-once", "4 answers from one threshold, charged as one", 1,
			svt.Law{ThresholdNoise: laplace(2), QueryNoise: laplace(4), Stop: 4},
			[]float64{0, 0, 0, 0, 1, 1, 1, 1}, []float64{1, 1, 1, 1, 0, 0, 0, 0}, 1_000_000},
		{"svt-scale-times-epsilon", "noise of scale proportional to epsilon, not to 1/epsilon", 0.25,
			svt.Law{ThresholdNoise: laplace(0.5), QueryNoise: laplace(1), Stop: 1},
			[]float64{0, 0, 0, 1}, []float64{1, 1, 1, 0}, 4_000},
	}
}

func brokenSparse() []Target {
	var all []Target
	for _, v := range brokenLaws() {
		on, claim := fmt.Sprintf("%v and %v", v.one, v.two), stated(v.epsilon, 0)
		all = append(all,
			runs(v.name, on, v.runs, claim, comparisons(v.law, v.one), comparisons(v.law, v.two)).mistaken(v.mistake),
			byLaw(v.name, on, claim, func(yield func(p, q []float64) bool) {
				yield(transcripts(v.law, v.one), transcripts(v.law, v.two))
			}).mistaken(v.mistake))
	}
	return append(all, noisyValue())
}

// comparisons draws from a law with continuous Laplace noise as textbooks do, in floating point.
func comparisons(law svt.Law, values []float64) side[string] {
	return func(key rng.Key, _ int) (audit.Run[string], error) {
		rnd := rand.New(key.Stream())
		return func(uint64) (string, error) {
			rho, above := laplaceNoise(rnd, law.ThresholdNoise.Scale), 0
			var transcript []byte
			for _, v := range values {
				over := v+laplaceNoise(rnd, law.QueryNoise.Scale) >= law.Threshold+rho
				transcript = append(transcript, bit(over))
				if over {
					above++
				}
				if law.Stop > 0 && above == law.Stop {
					break
				}
			}
			return string(transcript), nil
		}, nil
	}
}

func laplaceNoise(rnd *rand.Rand, scale float64) float64 {
	x := scale * rnd.ExpFloat64()
	if rnd.Uint64()&1 == 0 {
		return -x
	}
	return x
}

// noisyValue releases the noisy value of the query that was found above, with the noise of the comparison
// (as lecture notes of 2011 did). After m queries below, a small value shows that the threshold was low.
// The event has probability 1e-5 and less, so no affordable number of runs shows it; its law does.
func noisyValue() Target {
	const below, b1, b2, low = 16, 2, 4, -4.0
	cdf := func(x float64) float64 {
		if x < 0 {
			return math.Exp(x/b2) / 2
		}
		return 1 - math.Exp(-x/b2)/2
	}
	// law is the law of the event: below, 16 times, then a value in [low, 0].
	law := func(first, last float64) []float64 {
		p, ends := 0.0, []float64{-60 * b1, -40, -20, -8, low, -2, -1, 0}
		for i := range len(ends) - 1 {
			p += quad.Fixed(func(rho float64) float64 {
				window := cdf(0-last) - cdf(max(rho, low)-last)
				return math.Exp(-math.Abs(rho)/b1) / (2 * b1) * math.Pow(cdf(rho-first), below) * window
			}, ends[i], ends[i+1], 200, quad.Legendre{}, 0)
		}
		return []float64{math.Log(p), math.Log1p(-p)}
	}
	return byLaw("svt-noisy-value", fmt.Sprintf("%d of 0, then 1, and %d of 1, then 0", below, below), stated(1, 0),
		func(yield func(p, q []float64) bool) { yield(law(0, 1), law(1, 0)) }).
		mistaken("the noisy value is released with the noise of the comparison")
}
