package dpsgd

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/rng"
)

// rowByRow forgets which rows belong together.
func rowByRow(d Data) Data {
	d.Ends = nil
	return d
}

// TestSmallWorlds enumerates all batches of small data sets and all their neighbours. The exact laws of
// the release are never farther apart than the event claims, in Renyi and in hockey-stick divergence,
// and come close. The control, half the noise, exceeds the claim.
func TestSmallWorlds(t *testing.T) {
	worlds := [][][]float32{
		{{9}}, {{0.1}, {-9}, {9}}, {{0.3}, {0.3}, {-0.3}}, {{0.2999999}, {1e-9}, {5}}, {{0}, {0}, {-1}},
	}
	for _, multiplier := range sampled(1, 0.6, 4) {
		ratio := farthest(t, worlds, multiplier, rowByRow, false, 1)
		require.LessOrEqual(t, ratio, 1+1e-9)
		require.Greater(t, ratio, 0.99, "no neighbours come near the claim")
		require.Greater(t, farthest(t, worlds[:1], multiplier, rowByRow, true, 0.5), 1.5, "half the noise goes unnoticed")
	}
}

// TestSmallWorldsOfUnits does the same for units of one to four rows, where neighbours lack one unit.
// The control samples and clips rows one by one, and is charged as if a unit had one row.
func TestSmallWorldsOfUnits(t *testing.T) {
	worlds := [][][]float32{
		{{9}, {9, 9, 9}}, {{-0.1, 0.2}, {0.3, 0.3, 0.3, 0.3}, {-9}}, {{1e-9, -5, 5}, {0, 0, 0, -9}},
	}
	for _, multiplier := range sampled(1, 0.6, 4) {
		ratio := farthest(t, worlds, multiplier, func(d Data) Data { return d }, false, 1)
		require.LessOrEqual(t, ratio, 1+1e-9)
		require.Greater(t, ratio, 0.99, "no neighbours come near the claim")
		require.Greater(t, farthest(t, worlds, multiplier, rowByRow, true, 1), 1.5, "rows sampled one by one go unnoticed")
	}
}

func TestStepFollowsItsLaw(t *testing.T) {
	data := column(0.5, -9, 0.2)
	cfg := Config{SamplingProbability: 0.4, NoiseMultiplier: 0.5, ClipNorm: 0.3, Steps: 1, LearningRate: 1}
	law := lawOf(t, data, cfg.SamplingProbability, cfg.ClipNorm, gridOf(t, cfg.NoiseMultiplier, cfg.ClipNorm, 1, 3, 0))
	followsLaw(t, 20000, 40, newToy(), data, cfg, func(tr *trainer, _ Metrics) float64 { return law.below(float64(tr.release.total[0])) })
}

func TestLaplaceFollowsItsLaw(t *testing.T) {
	cfg := Config{SamplingProbability: 1, NoiseMultiplier: 1.5, Steps: 1, ClipNorm: 0.5, LearningRate: 1, Laplace: true}
	law := distuv.Laplace{Mu: 0.625, Scale: 0.5 * 1.5}
	followsLaw(t, 4000, 20, newToy(), column(0.25, 9, -0.125), cfg, func(tr *trainer, _ Metrics) float64 {
		return law.CDF(float64(tr.release.total[0]) / tr.release.grid.perUnit)
	})
	_, err := newTrainer(newPair(2), pairs(1, 1), cfg)
	require.ErrorContains(t, err, "one parameter")
}

// TestTheCountFollowsItsLaw checks that the noise of the count is a Gaussian of CountNoise records, and
// that the clip norm follows the count.
func TestTheCountFollowsItsLaw(t *testing.T) {
	cfg := Config{SamplingProbability: 1, NoiseMultiplier: 1, Steps: 1, ClipNorm: 0.5, LearningRate: 1, Clipping: adaptive}
	law := distuv.Normal{Mu: 2, Sigma: adaptive.Adaptive.CountNoise}
	followsLaw(t, 4000, 20, newPair(1, 1), pairs(0.1, 0, 9, 0, 0.2, 0.1, 0, 7), cfg, func(tr *trainer, m Metrics) float64 {
		require.InDelta(t, 0.5*math.Exp(-0.2*(m.Unclipped-0.5)), tr.clip.Norm(), 1e-15)
		return law.CDF(m.Unclipped * 4)
	})
}

// TestNoiseOfAnEmptyBatch checks a step in which no record is sampled. The step is noise of the claimed
// size, and the divisor is the expected batch. The relative standard error of the estimate is
// 1/sqrt(2 P) = 0.5 %, the false-alarm rate 1e-6.
func TestNoiseOfAnEmptyBatch(t *testing.T) {
	const cols, q = 10000, 0x1p-30
	data := Data{X: dense.New(10, cols), Y: make([]int, 10)}
	model, result := trained(t, data, Config{SamplingProbability: q, NoiseMultiplier: 1.7, ClipNorm: 0.3, Steps: 1, LearningRate: 10 * q}, 1)
	require.Zero(t, result.Diagnostics.Sampled)
	mean, n := 0.0, float64(len(model.parameters))
	for _, p := range model.parameters {
		mean += float64(p) / n
	}
	sd := normOf(model.parameters) / math.Sqrt(n)
	require.InEpsilon(t, 1.7*0.3*1.0005, sd, 4.9/math.Sqrt(2*n))
	require.Less(t, math.Abs(mean), 4.9*sd/math.Sqrt(n))
}

// TestSamplingCounts checks how often each record is taken, how pairs go together, and how records
// spread over blocks. The false-alarm rate is 1e-6 each.
func TestSamplingCounts(t *testing.T) {
	const records, draws, q = 300, 5000, 0.3
	b := newBatcher(Sampling{}, q, 0, records, 2)
	require.Equal(t, 2, b.blocks)
	taken, inBlock, neighbours := make([]float64, records), make([]float64, b.blocks), 0.0
	for i := range uint64(draws) {
		b.draw(1, rng.SeedKey(i), 0)
		in := make([]bool, records)
		for k := range b.blocks {
			require.True(t, slices.IsSorted(b.block(k)))
			inBlock[k] += float64(len(b.block(k)))
			for _, r := range b.block(k) {
				require.False(t, in[r])
				in[r] = true
				taken[r]++
			}
		}
		for r := 1; r < records; r++ {
			if in[r] && in[r-1] {
				neighbours++
			}
		}
	}
	statistic := 0.0
	for _, c := range taken {
		statistic += (c - draws*q) * (c - draws*q) / (draws * q * (1 - q))
	}
	require.Less(t, statistic, distuv.ChiSquared{K: records}.Quantile(1-1e-6))
	fits(t, inBlock)
	pairs := float64(draws * (records - 1))
	require.InDelta(t, q*q, neighbours/pairs, 4.9*math.Sqrt(3*q*q/pairs))

	control, sum := newBatcher(Sampling{}, q*1.02, 0, records, 2), 0.0
	for i := range uint64(draws) {
		control.draw(1, rng.SeedKey(i), 0)
		sum += float64(len(control.rows))
	}
	require.Greater(t, math.Abs(sum-draws*records*q)/math.Sqrt(draws*records*q*(1-q)), 4.9, "two per cent go unnoticed")
}

func TestEverybodyIsSampledAtOne(t *testing.T) {
	b := newBatcher(Sampling{}, 1, 0, 100, 3)
	b.draw(1, rng.SeedKey(1), 0)
	require.Len(t, b.rows, 100)
}
