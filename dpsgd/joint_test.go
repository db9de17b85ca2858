package dpsgd

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/rng"
)

// pair is a model with two parameters, in one group or two, whose gradient is the record.
type pair struct {
	parameters []float32
	groups     []int
}

func newPair(groups ...int) pair { return pair{make([]float32, 2), groups} }

func (m pair) Parameters() []float32 { return m.parameters }
func (m pair) Check(Data) error      { return nil }
func (m pair) Worker() Worker        { return pairWorker{m} }
func (m pair) Fingerprint() []byte   { return nil }
func (m pair) Groups() []int         { return m.groups }

type pairWorker struct{ m pair }

func (pairWorker) Start() {}
func (w pairWorker) AddClipped(sum []float32, data Data, rows []int, clip Clip) (tally Tally) {
	groups := w.m.groups
	if len(clip.Norms) == 1 {
		groups = []int{2}
	}
	for _, i := range rows {
		low, any := 0, false
		for g, n := range groups {
			x := dense.Row(data.X, i)[low : low+n]
			square := 0.0
			for _, v := range x {
				square += float64(v) * float64(v)
			}
			scale, clipped := clip.Scale(g, math.Sqrt(square))
			any = any || clipped
			for j, v := range x {
				sum[low+j] += float32(scale * float64(v))
			}
			low += n
		}
		if any {
			tally.Clipped++
		}
		tally.Loss += math.Abs(float64(dense.Row(data.X, i)[0]))
	}
	return tally
}

func pairs(values ...float32) Data {
	n := len(values) / 2
	return Data{X: blas32.General{Rows: n, Cols: 2, Stride: 2, Data: values}, Y: make([]int, n)}
}

func dropPair(d Data, r int) Data {
	return pairs(slices.Delete(slices.Clone(d.X.Data), 2*r, 2*r+2)...)
}

// plane is the exact law of a release of two numbers: Gaussians of standard deviation 1
// around the sums of all possible batches. The real release is discrete, on a grid with
// 2^32 points to a standard deviation. No table can tell that from the continuous law.
type plane struct {
	weights []float64
	points  [][2]float64
}

// planeOf enumerates the batches. The function read takes two coordinates, in standard
// deviations of their noise, out of the integers that noise is added to.
func planeOf(t *testing.T, model Model, data Data, q float64, s setting, read func(r *release, total []int64) [2]float64) (p plane) {
	s.probability = q
	r, err := newRelease(model, data, s, 0, 1)
	require.NoError(t, err)
	r.sum.blind = true
	for set := range 1 << data.X.Rows {
		weight := 1.0
		var batch []int
		for i := range data.X.Rows {
			if set>>i&1 == 1 {
				weight *= q
				batch = append(batch, i)
			} else {
				weight *= 1 - q
			}
		}
		r.batch = dealt([][]int{batch})
		_, err := r.sumBatch(context.Background())
		require.NoError(t, err)
		p.weights = append(p.weights, weight)
		p.points = append(p.points, read(r, r.total))
	}
	return p
}

func (p plane) density(x, y float64) (d float64) {
	for i, w := range p.weights {
		a, b := x-p.points[i][0], y-p.points[i][1]
		d += w * math.Exp(-(a*a+b*b)/2)
	}
	return d / (2 * math.Pi)
}

// renyi integrates by the trapezoid rule, which is exact to many digits for functions as
// smooth as these.
func (p plane) renyi(q plane, order int) float64 {
	const step, reach = 0.2, 14
	sum := 0.0
	for x := -float64(reach); x <= reach; x += step {
		for y := -float64(reach); y <= reach; y += step {
			a, b := p.density(x, y), q.density(x, y)
			if a > 0 && b > 0 {
				sum += math.Exp(float64(order)*math.Log(a)-float64(order-1)*math.Log(b)) * step * step
			}
		}
	}
	return math.Log(sum) / float64(order-1)
}

// closest returns the largest divergence of neighbours over the claim.
func closest(t *testing.T, model Model, worlds []Data, q float64, s setting, claimed float64, read func(*release, []int64) [2]float64) (ratio float64) {
	for _, data := range worlds {
		whole := planeOf(t, model, data, q, s, read)
		for r := range data.X.Rows {
			part := planeOf(t, model, dropPair(data, r), q, s, read)
			for _, order := range []int{2, 4} {
				claim := sampledGaussian(q, claimed, order)
				ratio = math.Max(ratio, math.Max(whole.renyi(part, order), part.renyi(whole, order))/claim)
			}
		}
	}
	return ratio
}

// TestSmallWorldsOfAdaptiveClipping checks the joint law of the sum and the count of
// records that were not clipped. Neighbours are never farther apart than the event claims,
// and nearly that far for a record just within the clip norm. The control does not charge
// the count and exceeds the claim.
func TestSmallWorldsOfAdaptiveClipping(t *testing.T) {
	const q, clip, z, count = 0.25, 0.5, 1.2, 2.5
	sumAndCount := func(r *release, total []int64) [2]float64 {
		return [2]float64{float64(total[0]) / r.grid.sigma, float64(total[2]) / r.grid.sigma}
	}
	worlds := []Data{pairs(0.5, 0), pairs(0.5, 0, 9, 0, -0.2, 0), pairs(-9, 0, 0.49, 0), pairs(0.01, 0)}
	s := setting{noiseMultiplier: z, clip: FlatClip(clip), countMultiplier: count}
	cfg := Config{SamplingProbability: q, NoiseMultiplier: z, Steps: 1, ClipNorm: clip,
		LearningRate: 1, Clipping: Clipping{Adaptive: Adaptive{Quantile: 0.5, LearningRate: 0.2, CountNoise: count}}}
	require.NoError(t, cfg.Validate())
	joint := jointMultiplier(z, count)
	require.Equal(t, cfg.EventAfter(1), accountant.Repeated{Event: gaussianStep(q, joint), Count: 1})
	ratio := closest(t, newPair(1, 1), worlds, q, s, joint, sumAndCount)
	require.LessOrEqual(t, ratio, 1+1e-9)
	require.Greater(t, ratio, 0.98)
	require.Greater(t, closest(t, newPair(1, 1), worlds[:1], q, s, z, sumAndCount), 1.1, "the control: the count is free")
}

// TestSmallWorldsOfGroupClipping clips groups one by one, under noise for all of them
// together. The control scales the noise to the norm of one group.
func TestSmallWorldsOfGroupClipping(t *testing.T) {
	const q, z = 0.25, 1.2
	both := func(r *release, total []int64) [2]float64 {
		return [2]float64{float64(total[0]) / r.grid.sigma, float64(total[1]) / r.grid.sigma}
	}
	worlds := []Data{pairs(9, 9, 0.1, -9), pairs(0.3, -0.4), pairs(-9, 0.4, 0, 0, 9, 9)}
	cfg := Config{Clipping: Clipping{GroupNorms: []float64{0.3, 0.4}}}
	clip, err := cfg.clip(newPair(1, 1))
	require.NoError(t, err)
	require.InDelta(t, 0.5, clip.Norm(), 1e-15)
	s := setting{noiseMultiplier: z, clip: clip}
	ratio := closest(t, newPair(1, 1), worlds, q, s, z, both)
	require.LessOrEqual(t, ratio, 1+1e-9)
	require.Greater(t, ratio, 0.98)

	oneNormOnly := func(r *release, total []int64) [2]float64 {
		g, err := newGrid(z, 0.3, 2, r.records, 0)
		require.NoError(t, err)
		scale := g.perUnit / r.grid.perUnit / g.sigma
		return [2]float64{float64(total[0]) * scale, float64(total[1]) * scale}
	}
	require.Greater(t, closest(t, newPair(1, 1), worlds[:1], q, s, z, oneNormOnly), 1.1)
}

// TestTheCountFollowsItsLaw checks that the noise of the count is a Gaussian of CountNoise
// records. The false-alarm rate is 1e-6, and the seeds are fixed.
func TestTheCountFollowsItsLaw(t *testing.T) {
	const runs, bins, noise = 4000, 20, 1.5
	cfg := Config{SamplingProbability: 1, NoiseMultiplier: 1, Steps: 1, ClipNorm: 0.5, LearningRate: 1,
		Clipping: Clipping{Adaptive: Adaptive{Quantile: 0.5, LearningRate: 0.2, CountNoise: noise}}}
	tr, err := newTrainer(newPair(1, 1), pairs(0.1, 0, 9, 0, 0.2, 0.1, 0, 7), cfg)
	require.NoError(t, err)
	observed := make([]float64, bins)
	for run := range runs {
		tr.release.key, tr.done, tr.clip = rng.SeedKey(uint64(run)), 0, FlatClip(0.5)
		m, err := tr.step(context.Background())
		require.NoError(t, err)
		require.InDelta(t, 0.5*math.Exp(-0.2*(m.Unclipped-0.5)), tr.clip.Norm(), 1e-15)
		p := distuv.Normal{Mu: 2, Sigma: noise}.CDF(m.Unclipped * 4)
		observed[min(int(p*bins), bins-1)]++
	}
	statistic := 0.0
	for _, o := range observed {
		const expected = float64(runs) / bins
		statistic += (o - expected) * (o - expected) / expected
	}
	require.Less(t, statistic, distuv.ChiSquared{K: bins - 1}.Quantile(1-1e-6))
}

// TestJointMultiplier checks that the joint multiplier is rounded down, and symmetric.
func TestJointMultiplier(t *testing.T) {
	require.InDelta(t, 1/math.Sqrt(2), jointMultiplier(1, 1), 1e-12)
	require.Less(t, jointMultiplier(1, 1), 1/math.Sqrt(2))
	require.Equal(t, jointMultiplier(3, 4), jointMultiplier(4, 3))
	require.InDelta(t, 2.4, jointMultiplier(3, 4), 1e-12)
	require.Less(t, jointMultiplier(1, maxNoise), 1.0)
}

func gaussianStep(q, z float64) accountant.Event {
	return accountant.PoissonSampled{Probability: q, Event: accountant.Gaussian{NoiseMultiplier: z}}
}
