package controls

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

func brokenSGD() []Target {
	cfg := canaryConfig()
	wrap := func(m dpsgd.Model) dpsgd.Model { return batchClipped{m} }
	return append([]Target{
		canaries("dpsgd-quarter-noise", cfg, unchanged, cfg.NoiseMultiplier/4).mistaken("noise a quarter of what is accounted"),
		canaries("dpsgd-batch-clipping", cfg, wrap, cfg.NoiseMultiplier).
			mistaken("the mean gradient of a batch is clipped, not each record's"),
	}, fixedBatches()...)
}

// batchClipped clips what lecture notes print: the mean gradient of a batch, in place of each record's own.
// The sum of n gradients may then have norm n clip.
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

// fixedBatches deals the records to batches of one size and accounts for Poisson samples (Chua et al. 2024;
// Lebeda et al. 2024). The gradients of all other records are -1 and the one in question has +1 or is
// missing, so that its batch stands out by 2 or by 1 from the others, which are known: sampling hides
// nothing. The auditor looks at the largest sum.
func fixedBatches() []Target {
	const steps, sigma = 200, 0.4
	release := func(shift float64) side[int] {
		return func(key rng.Key, _ int) (audit.Run[int], error) {
			rnd := rand.New(key.Stream())
			return func(uint64) (int, error) {
				batch, largest := rnd.IntN(steps), math.Inf(-1)
				for t := range steps {
					x := sigma * rnd.NormFloat64()
					if t == batch {
						x += shift
					}
					largest = max(largest, x)
				}
				return bucket(largest, 0.1, 5), nil
			}, nil
		}
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

// largestBatch returns the law, in buckets, of the largest of a number of sums of batches, one of which has
// mean shift and the others 0:
//
//	P[largest <= x] = Phi(x/sigma)^(steps-1) Phi((x-shift)/sigma)
func largestBatch(steps int, sigma, shift float64) []float64 {
	logBelow := func(x float64) float64 {
		return float64(steps-1)*mathx.LogNormalCDF(x/sigma) + mathx.LogNormalCDF((x-shift)/sigma)
	}
	const low, high, width = 1, 5, 0.02 // in units of the clip norm, plus what noise adds
	var law []float64
	last, x := 0.0, high*(1+sigma)
	for ; x > low; x -= width {
		above := -math.Expm1(logBelow(x))
		law, last = append(law, math.Log(above-last)), above
	}
	return append(law, math.Log1p(-last))
}
