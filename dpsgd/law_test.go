package dpsgd

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

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
	require.ErrorContains(t, testkit.Err(newTrainer(newPair(2), pairs(1, 1), cfg)), "one parameter")
}

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

// moves trains a parameter on records that pull it nowhere, so that it moves by noise
// alone, and returns by how much in each step.
func moves(t *testing.T, cfg Config) []float64 {
	t.Helper()
	m := newToy()
	var at []float64
	cfg.Observe = func(Metrics) { at = append(at, float64(m.parameters[0])) }
	require.NoError(t, testkit.Err(train(t.Context(), t, m, column(0, 0), cfg, rng.SeedKey(1))))
	for i := len(at) - 1; i > 0; i-- {
		at[i] -= at[i-1]
	}
	return at
}

func TestPhasesTrainWithTheirNoise(t *testing.T) {
	const each = 8
	steps := moves(t, Config{ClipNorm: 1, LearningRate: 1, Phases: []Phase{
		{Steps: each, SamplingProbability: 1, NoiseMultiplier: 1000},
		{Steps: each, SamplingProbability: 1, NoiseMultiplier: 0.01},
		{Steps: each, SamplingProbability: 1, NoiseMultiplier: 1000},
	}})
	require.Len(t, steps, 3*each)
	// steps of phases differ by a factor of 10^5; the seed is fixed
	for i, step := range steps {
		if loud := i/each != 1; loud {
			require.Greater(t, math.Abs(step), 2.0, "step %d", i)
		} else {
			require.Less(t, math.Abs(step), 0.1, "step %d", i)
		}
	}
}

func TestGaussianDraws(t *testing.T) {
	cfg := Config{SamplingProbability: 0.1, NoiseMultiplier: 1, ClipNorm: 1, Steps: 30, LearningRate: 1}
	require.Equal(t, 30*7, cfg.GaussianDraws(7))
	cfg.Clipping.Adaptive = Adaptive{Quantile: 0.5, LearningRate: 0.2, CountNoise: 10}
	require.Equal(t, 30*8, cfg.GaussianDraws(7))
	cfg = Config{SamplingProbability: 1, NoiseMultiplier: 1, ClipNorm: 1, Steps: 30, LearningRate: 1, Laplace: true}
	require.Zero(t, cfg.GaussianDraws(1))
}

// Sums of other settings under one key meet other noise: with the same noise the two
// results would be in the ratio of their units.
func TestSumsOfOtherSettingsMeetOtherNoise(t *testing.T) {
	base := SumConfig{ClipNorm: 1, NoiseMultiplier: 4, Records: 2}
	share := func(cfg SumConfig) float64 {
		return released(t, newToy(), column(0, 0), cfg, 1).Sum[0] / (cfg.ClipNorm * cfg.NoiseMultiplier)
	}
	first := share(base)
	for _, change := range []func(*SumConfig){
		func(c *SumConfig) { c.ClipNorm = 2 },
		func(c *SumConfig) { c.NoiseMultiplier = 8 },
		func(c *SumConfig) { c.Records = 3 },
	} {
		cfg := base
		change(&cfg)
		require.Greater(t, math.Abs(share(cfg)-first), 1e-3, "%+v", cfg)
	}
}

// roundedVariation returns, by summation, the total variation between the discrete Gaussian
// law of sigma s and the continuous one rounded to the nearest integer.
func roundedVariation(s float64) float64 {
	reach := int(12 * s)
	total := 0.0
	for k := -reach; k <= reach; k++ {
		total += math.Exp(-float64(k) * float64(k) / (2 * s * s))
	}
	cdf := func(x float64) float64 { return math.Erfc(-x/(s*math.Sqrt2)) / 2 }
	variation := 0.0
	for k := -reach; k <= reach; k++ {
		x := float64(k)
		variation += math.Abs(math.Exp(-x*x/(2*s*s))/total - (cdf(x+0.5) - cdf(x-0.5)))
	}
	return variation / 2
}

// If both laws of a pair change by a total variation of at most v, their hockey-stick divergence changes by at
// most v + e^epsilon v.
func TestLatticeDeltaCoversTheDifferenceOfTheLaws(t *testing.T) {
	// s^2 times the variation tends to a constant as s grows
	constant := 0.0
	for _, s := range []float64{3, 4, 6, 8, 12, 20} {
		constant = roundedVariation(s) * s * s
		require.InDelta(t, 0.0202, constant, 0.0015, "s = %g", s)
	}
	each := constant / math.Pow(2, 2*minGridBits)
	for _, epsilon := range []float64{0, 0.5, 1, 8, 20} {
		for _, draws := range []int{1, 1000, 1 << 40} {
			least := (1 + math.Exp(epsilon)) * float64(draws) * each
			got := LatticeDelta(draws, epsilon)
			require.GreaterOrEqual(t, got, least)
			require.LessOrEqual(t, got, 2.2*least, "and is not far above")
		}
	}
}

// The pair of WithFailure dominates a step with discrete noise at every epsilon, by summation over a coarse
// lattice. A failure a tenth as large, which the function refuses, or none, does not.
func TestAFailureCoversDiscreteNoise(t *testing.T) {
	const each = 1.0 / 24 / (1 << minGridBits) / (1 << minGridBits)
	for _, c := range []struct{ s, z, q float64 }{{20, 2, 1}, {20, 1, 1}, {30, 1, 0.3}, {40, 4, 0.5}} {
		event := accountant.Event(accountant.Gaussian{NoiseMultiplier: c.z})
		if c.q < 1 {
			event = accountant.PoissonSampled{Probability: c.q, Event: event}
		}
		draws := int(roundedVariation(c.s) / each)
		failure := 1e-6
		for !LatticeCovered(event, failure, draws) {
			failure *= 1.1
			require.Less(t, failure, 0.5)
		}
		shift, reach := int(c.s/c.z), int(12*c.s)
		law := func(weight func(k float64) float64) (p, q []float64) { // with the record and without
			var at []float64
			for k := -reach - shift; k <= reach; k++ {
				at = append(at, weight(float64(k)))
			}
			total := floats.Sum(at)
			for k := range at {
				moved := 0.0
				if k >= shift {
					moved = at[k-shift]
				}
				q, p = append(q, at[k]/total), append(p, (c.q*moved+(1-c.q)*at[k])/total)
			}
			return p, q
		}
		p, q := law(func(k float64) float64 { return math.Exp(-k * k / (2 * c.s * c.s)) })
		cdf := func(x float64) float64 { return math.Erfc(-x/(c.s*math.Sqrt2)) / 2 }
		cp, cq := law(func(k float64) float64 { return cdf(k+0.5) - cdf(k-0.5) })
		above := func(p, q []float64, t float64) (h float64) {
			for k := range p {
				h += math.Max(0, p[k]-t*q[k])
			}
			return h
		}
		bare := 0.0
		for epsilon := 0.0; epsilon < 15; epsilon += 0.05 {
			e := math.Exp(epsilon)
			for _, h := range [][2]float64{{above(p, q, e), above(cp, cq, e)}, {above(q, p, e), above(cq, cp, e)}} {
				require.LessOrEqual(t, h[0], failure+(1-failure)*h[1]+1e-13, "%+v at %v", c, epsilon)
				bare = math.Max(bare, h[0]-h[1])
			}
		}
		require.Greater(t, bare, 1e-7, "continuous noise alone does not bound discrete noise")
	}
}

func TestGridCoversEveryCase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := math.Exp2(rapid.Float64Range(-8, 12).Draw(t, "log2 noise multiplier"))
		clip := math.Exp2(rapid.Float64Range(-30, 30).Draw(t, "log2 clip"))
		parameters := rapid.SampledFrom([]int{1, 10, 1000, 1 << 16, 1<<16 + 1, 1 << 20}).Draw(t, "parameters")
		g, err := newGrid(z, clip, parameters, 1000, 0)
		if err != nil {
			t.Skip("too much or too little noise")
		}
		group := groupingOf(parameters)
		u := math.Pow(2, -24)
		gamma := 64 * u / (1 - 64*u)
		c := clip * (1 + math.Pow(2, -20)) * g.perUnit
		limit, root := float64(group.limit), math.Sqrt(float64(parameters))
		pieces := math.Ceil(limit / float64(group.rows))
		for name, bound := range map[string]float64{
			"both within": c*(1+2*gamma*limit) + pieces*root,
			"one above":   c*(1+gamma*limit) + (pieces+limit+1)/2*root,
			"both above":  c + root/2,
		} {
			// The last digits are covered by a slack of 2^-40, and roundings weigh 2^-33 or more.
			require.GreaterOrEqual(t, g.sensitivity, bound*(1-0x1p-50), name)
		}
		require.GreaterOrEqual(t, g.sigma, z*g.sensitivity*(1-0x1p-50))
		require.LessOrEqual(t, g.sigma, z*g.sensitivity*2.1)
	})
}

func observed(t *testing.T, d Data, cfg Config) (*Softmax, []StepDistances) {
	var steps []StepDistances
	cfg.Distances.Observe = func(s StepDistances) { steps = append(steps, s) }
	m, _ := trained(t, d, cfg, 1)
	return m, steps
}

func TestDistancesChangeNothing(t *testing.T) {
	d := clouds(600, 5)
	plain, _ := trained(t, d, usual, 1)
	for _, between := range []Between{Batches, Records} {
		cfg := usual
		cfg.Distances.Between = between
		m, steps := observed(t, d, cfg)
		require.Equal(t, plain.Parameters(), m.Parameters())
		require.Len(t, steps, cfg.Steps)
		cfg.Workers = 3
		_, again := observed(t, d, cfg)
		require.Equal(t, steps, again, "the number of goroutines does not matter")
	}
}

func TestDistancesAreThoseOfAStep(t *testing.T) {
	d := clouds(600, 5)
	for _, between := range []Between{Batches, Records} {
		cfg := usual
		cfg.SamplingProbability, cfg.Distances = 1, Distances{Between: between, Most: 1000}
		_, steps := observed(t, d, cfg)
		first := steps[0]
		require.Equal(t, 1, first.Step)
		require.Equal(t, 1.0, first.Probability)
		require.Equal(t, cfg.NoiseMultiplier*cfg.ClipNorm, first.Noise)
		if between == Records {
			require.Equal(t, 2*cfg.ClipNorm, first.Bound)
			require.Len(t, first.Values, 300)
			require.Greater(t, slices.Max(first.Values), cfg.ClipNorm)
		} else {
			require.Equal(t, cfg.ClipNorm, first.Bound)
			want := testkit.Must(MeasureDistances(newSoftmax(5, 3), d, upTo(600), FlatClip(cfg.ClipNorm), Batches))
			slices.Sort(want)
			got := slices.Clone(first.Values)
			slices.Sort(got)
			require.Equal(t, want, got)
		}
		for _, s := range steps {
			require.LessOrEqual(t, slices.Max(s.Values), s.Bound*(1+0x1p-16))
		}
	}
}

func TestRowsOfDistancesAreDrawnFromTheBatch(t *testing.T) {
	rows := []int{3, 5, 8, 13, 21, 34}
	for seed := range uint64(20) {
		got := chosen(rows, 4, rng.SeedKey(seed).Stream())
		require.Len(t, got, 4)
		require.Subset(t, rows, got)
		slices.Sort(got)
		require.Len(t, slices.Compact(got), 4)
	}
	require.Equal(t, []int{3, 5, 8, 13, 21, 34}, rows)
	require.Len(t, chosen(rows, 100, rng.SeedKey(1).Stream()), 6)
}

func TestDistancesAfterACheckpoint(t *testing.T) {
	d := clouds(300, 4)
	_, all := observed(t, d, usual)
	cfg := usual
	cfg.Checkpoint, cfg.CheckpointEvery = filepath.Join(t.TempDir(), "run"), 10
	var steps []StepDistances
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		steps = nil
		cfg.Distances.Observe = func(s StepDistances) {
			if steps = append(steps, s); len(steps) == 16 {
				cancel()
			}
		}
		_, _ = train(ctx, t, newSoftmax(4, 3), d, cfg, rng.SeedKey(1))
		cancel()
	}
	require.NotEmpty(t, steps)
	require.Greater(t, steps[0].Step, 1, "steps before the checkpoint are not measured again")
	require.Equal(t, all[steps[0].Step-1:steps[len(steps)-1].Step], steps)
}

func TestMeasuredDistancesAreRefused(t *testing.T) {
	m := newSoftmax(4, 3)
	require.ErrorContains(t, testkit.Err(MeasureDistances(m, clouds(10, 4), []int{10}, FlatClip(1), Batches)), "record 10")
	_, err := MeasureDistances(m, clouds(10, 4), []int{1}, FlatClip(math.Inf(1)), Batches)
	require.ErrorContains(t, err, "clip norm")
}
