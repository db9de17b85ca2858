package controls

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/svt"
)

type brokenLaw struct {
	name, mistake string
	epsilon       float64 // claimed epsilon
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

func comparisons(law svt.Law, values []float64) side[string] {
	return drawn(func(rnd *rand.Rand) string {
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
		return string(transcript)
	})
}

func drawn[O comparable](draw func(rnd *rand.Rand) O) side[O] {
	return func(key rng.Key, _ int) audit.Run[O] {
		rnd := rand.New(key.Stream())
		return func(uint64) (O, error) { return draw(rnd), nil }
	}
}

func laplaceNoise(rnd *rand.Rand, scale float64) float64 {
	x := scale * rnd.ExpFloat64()
	if rnd.Uint64()&1 == 0 {
		return -x
	}
	return x
}

// noisyValue audits a wrong sparse vector technique from lecture notes of 2011.
func noisyValue() Target {
	// For the query above the threshold, this technique releases the noisy value that was compared. After
	// many queries below the threshold, a small noisy value shows that the noisy threshold was low. Such an
	// output has probability at most 1e-5, so ByRuns misses it and ByLaw finds it.

	const below, b1, b2, low = 16, 2, 4, -4.0
	cdf := func(x float64) float64 {
		if x < 0 {
			return math.Exp(x/b2) / 2
		}
		return 1 - math.Exp(-x/b2)/2
	}
	// law returns the probabilities of 16 answers below, then a value in [low, 0], and of all else.
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

const (
	halfEpsilon = 0.5
	gapEpsilon  = 1
	gapDelta    = 0.01
)

func brokenVotes() []Target {
	// Lecture notes describe noisy argmax with Laplace noise of scale 1/epsilon as epsilon-private, but one
	// moved vote changes two counts. The lead minus one is no distance to instability: its sensitivity is 2,
	// and it can be positive where one vote changes the winner.
	one, two := []int{8, 2}, []int{9, 1}
	return []Target{
		runs("lnmax-half-noise", fmt.Sprintf("%v and %v", one, two), 100_000, stated(halfEpsilon, 0), halfNoiseOf(one), halfNoiseOf(two)).
			mistaken("noise of scale 1/epsilon, as if a moved vote changed one count"),
		runs("m-stab-gap", "votes with leads 3 and 1", 100_000, stated(gapEpsilon, gapDelta), gapRelease(2), gapRelease(0)).
			mistaken("the lead minus 1 is taken for the distance to instability"),
		floatingPoint(),
	}
}

func halfNoiseOf(counts []int) side[aggregate.Answer] {
	return asked(func(n int) (aggregate.Mechanism, error) {
		return aggregate.NewLNMax(aggregate.LNMaxConfig{Scale: 1 / halfEpsilon, Queries: n})
	}, counts)
}

func gapRelease(distance float64) side[bool] {
	return drawn(func(rnd *rand.Rand) bool {
		return distance+laplaceNoise(rnd, 1/gapEpsilon) > math.Log(1/gapDelta)/gapEpsilon
	})
}

// floatingPoint audits textbook Laplace noise from a uniform number with 53 bits (Mironov 2012).
func floatingPoint() Target {
	// The true value determines which sums are possible. The auditor tests which of two true values can give
	// the released sum.
	noise := func(u float64, sign float64) float64 { return sign * math.Log(u) }
	reachable := func(from, x float64) bool {
		z := x - from
		sign := -1.0
		if z < 0 {
			sign = 1
		}
		u := math.Floor(math.Exp(-math.Abs(z)) * 0x1p53)
		for d := -16.0; d <= 16; d++ {
			if v := (u + d) * 0x1p-53; v > 0 && v < 1 && from+noise(v, sign) == x {
				return true
			}
		}
		return false
	}
	const one, two = 0.0, 1.0
	release := func(value float64) side[string] {
		return drawn(func(rnd *rand.Rand) string {
			u, sign := float64(max(rnd.Uint64()>>11, 1))*0x1p-53, 1.0
			if rnd.Uint64()&1 == 0 {
				sign = -1
			}
			x := value + noise(u, sign)
			return fmt.Sprint(reachable(one, x), reachable(two, x))
		})
	}
	return runs("laplace-floating-point", "the numbers 0 and 1", 20_000, stated(1, 0), release(one), release(two)).
		mistaken("Laplace noise in floating point, by inversion of a 53-bit uniform number")
}

func brokenSGD() []Target {
	cfg := canaryConfig()
	wrap := func(m dpsgd.Model) dpsgd.Model { return batchClipped{m} }
	return append([]Target{
		canaries("dpsgd-quarter-noise", cfg, unchanged, cfg.NoiseMultiplier/4).mistaken("noise a quarter of what is accounted"),
		canaries("dpsgd-batch-clipping", cfg, wrap, cfg.NoiseMultiplier).
			mistaken("the mean gradient of a batch is clipped, not each record's"),
	}, fixedBatches()...)
}

type batchClipped struct{ dpsgd.Model }

func (m batchClipped) Worker() dpsgd.Worker { return batchClippedWorker{m.Model.Worker()} }

type batchClippedWorker struct{ dpsgd.Worker }

func (w batchClippedWorker) AddClipped(sum []float32, data dpsgd.Data, rows []int, clip dpsgd.Clip) dpsgd.Tally {
	tally := w.Worker.AddClipped(sum, data, rows, dpsgd.FlatClip(math.Inf(1)))
	norm := 0.0
	for _, v := range sum {
		norm += float64(v) * float64(v)
	}
	if norm, most := math.Sqrt(norm), clip.Norm()*float64(len(rows)); norm > most {
		for i := range sum {
			sum[i] = float32(float64(sum[i]) * most / norm)
		}
	}
	return tally
}

// fixedBatches shuffles records into batches of fixed size but accounts for Poisson samples (Chua et al.
// 2024; Lebeda et al. 2024).
func fixedBatches() []Target {
	// One record has gradient +1 or is missing. All other records have gradient -1. Before noise, the sum
	// over the batch with the record is 2 above the sums over other batches. If the record is missing, one
	// batch is a record short, and its sum is 1 above the others. The auditor uses the largest sum.
	const steps, sigma = 200, 0.4
	release := func(shift float64) side[int] {
		return drawn(func(rnd *rand.Rand) int {
			batch, largest := rnd.IntN(steps), math.Inf(-1)
			for t := range steps {
				x := sigma * rnd.NormFloat64()
				if t == batch {
					x += shift
				}
				largest = max(largest, x)
			}
			return bucket(largest, 0.1, 5)
		})
	}
	claim := profile(accountant.Repeated{
		Event: accountant.PoissonSampled{Probability: 1.0 / steps, Event: accountant.Gaussian{NoiseMultiplier: sigma}},
		Count: steps,
	}, accountant.AddRemove)
	const name, mistake = "dpsgd-fixed-batches", "shuffled batches of fixed size, accounted as Poisson samples"
	on := fmt.Sprintf("one epoch of %d batches, a record there or not", steps)
	pair := onePair(largestBatch(steps, sigma, 2), largestBatch(steps, sigma, 1))
	return []Target{
		runs(name, on, 20_000, claim, release(2), release(1)).mistaken(mistake),
		byLaw(name, on, claim, pair).mistaken(mistake),
	}
}

func largestBatch(steps int, sigma, shift float64) []float64 {
	// One sum has mean shift, and all other sums have mean 0:
	//
	//	P[largest <= x] = Phi(x/sigma)^(steps-1) Phi((x-shift)/sigma)
	logBelow := func(x float64) float64 {
		return float64(steps-1)*mathx.LogNormalCDF(x/sigma) + mathx.LogNormalCDF((x-shift)/sigma)
	}
	const low, high, width = 1, 5, 0.02 // in units of the clip norm; the range has a margin for the noise
	var law []float64
	last, x := 0.0, high*(1+sigma)
	for ; x > low; x -= width {
		above := -math.Expm1(logBelow(x))
		law, last = append(law, math.Log(above-last)), above
	}
	return append(law, math.Log1p(-last))
}

func brokenAccounts() []Target {
	priced := func(name, mistake, on string, claim claimer, pair laws) Target {
		return byLaw(name, on, claim, pair).mistaken(mistake)
	}
	return []Target{
		priced("account-count-ignored", "10 randomised responses charged as one (dp_accounting 0.6.0, PLD)",
			"answers of 10 responses, log-ratio log 3", stated(1.0986866665777768, 1e-5),
			onePair(binomial(10, math.Log(3)), binomial(10, -math.Log(3)))),
		priced("account-selections-ignored", "10 selections charged as one (dp_accounting 0.6.0, RDP)",
			"10 selections of two, log-ratios 0.5 and -0.5", stated(1.0035014096770716, 1e-5),
			onePair(binomial(10, 0.5), binomial(10, -0.5))),
		priced("account-replaced-gaussian", "replacing a record charged as adding one (dp_accounting 0.6.0, RDP)",
			"noise multiplier 1 around -1 and 1", stated(4.728507067217623, 1e-5),
			onePair(halfLines(distuv.Normal{Mu: 1, Sigma: 1}.Survival), halfLines(distuv.Normal{Mu: -1, Sigma: 1}.Survival))),
		priced("account-replaced-laplace", "replacing a record charged as adding one (dp_accounting 0.6.0, RDP)",
			"noise multiplier 1 around -1 and 1", stated(1.0118275891413084, 1e-5),
			onePair(halfLines(distuv.Laplace{Mu: 1, Scale: 1}.Survival), halfLines(distuv.Laplace{Mu: -1, Scale: 1}.Survival))),
		priced("account-best-of-twenty", "the best of 20 runs charged as one: hyper-parameters chosen free of charge",
			"whether any of 20 runs is good, log odds 0.5 and -0.5", stated(0.5, 1e-5), onePair(anyOf(20, 0.5), anyOf(20, -0.5))),
		priced("account-permute-and-flip", "permute-and-flip charged as the exponential mechanism",
			"500 queries on votes [3 3] and [4 2]", exponential, onePair(permuteAndFlip(0), permuteAndFlip(2))),
		priced("account-any-order", "go on while some Rényi order is in budget", "a mechanism of two steps",
			stated(2, 0.01), anyOrder()),
	}
}

func binomial(n int, logOdds float64) []float64 {
	hit, miss := -math.Log1p(math.Exp(-logOdds)), -math.Log1p(math.Exp(logOdds))
	law := make([]float64, n+1)
	for k := range law {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		law[k] = a - b - c + float64(k)*hit + float64(n-k)*miss
	}
	return law
}

func anyOf(n int, logOdds float64) []float64 {
	none := -float64(n) * math.Log1p(math.Exp(logOdds))
	return []float64{none, math.Log(-math.Expm1(none))}
}

func halfLines(survival func(float64) float64) []float64 {
	var law []float64
	above := 0.0
	for i := 200; i >= -200; i-- {
		s := survival(float64(i) / 25)
		law = append(law, math.Log(s-above))
		above = s
	}
	return append(law, math.Log1p(-above))
}

// flipScale gives permute-and-flip and the exponential mechanism epsilon 2/flipScale. Only the exponential
// mechanism has bounded range 2/flipScale (Durfee, Rogers 2019).
const flipScale, flips = 10.0, 500

var exponential = profile(accountant.Repeated{
	Event: accountant.ExponentialMechanism{Epsilon: 2 / flipScale}, Count: flips}, accountant.ReplaceOne)

func permuteAndFlip(lead float64) []float64 {
	p := math.Exp(-lead/flipScale) / 2
	return binomial(flips, math.Log(p/(1-p)))
}

// anyOrder returns a mechanism of at most two steps with an invalid stopping rule.
func anyOrder() laws {
	// It continues while the cost at Rényi order 6 or at order 32 fits epsilon 2 at delta 0.01. Every path
	// fits, but the mechanism's delta at epsilon 2 is 0.0137. Whitehouse et al. 2023 give valid filters.
	steps := func(first [3]float64, after0, after1 float64) []float64 {
		law := []float64{first[0] * after0, first[0] * (1 - after0), first[1] * after1, first[1] * (1 - after1), first[2]}
		for i := range law {
			law[i] = math.Log(law[i])
		}
		return law
	}
	return onePair(
		steps([3]float64{0.5225300182101352, 0.19362214385532694, 0.2838478379345378}, 0.06980065969791138, 0.7435517244067299),
		steps([3]float64{0.21553814107764094, 0.07196521247854767, 0.7124966464438114}, 0.01909420663808228, 0.25644727559326125))
}
