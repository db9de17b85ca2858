package dpsgd

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

func pairs(values ...float32) Data {
	n := len(values) / 2
	return Data{X: blas32.General{Rows: n, Cols: 2, Stride: 2, Data: values}, Y: make([]int, n)}
}

// readPair takes two coordinates, in standard deviations of their noise, out of the integers that noise
// is added to.
type readPair func(r *release, total []int64) [2]float64

func bothParameters(r *release, total []int64) [2]float64 {
	return [2]float64{float64(total[0]) / r.grid.sigma, float64(total[1]) / r.grid.sigma}
}

// planeOf returns the law of a release of two numbers: Gaussians around the sums of all batches. The
// real release is discrete, on a grid with 2^32 points to a standard deviation. No table can tell that
// from the continuous law.
func planeOf(t *testing.T, model Model, data Data, q float64, s setting, read readPair) []float64 {
	s.probability = q
	r := testkit.Must(newRelease(model, data, s, 0, 1))
	r.sum.blind = true
	var weights []float64
	var points [][2]float64
	for weight, batch := range batches(data.X.Rows, q) {
		r.batch = dealt([][]int{batch})
		require.NoError(t, testkit.Err(r.sumBatch(t.Context())))
		weights, points = append(weights, weight), append(points, read(r, r.total))
	}
	return inTwo(weights, points)
}

// closest returns the largest divergence of neighbours over the claim.
func closest(t *testing.T, model Model, worlds []Data, q float64, s setting, claimed float64, read readPair) (ratio float64) {
	for _, data := range worlds {
		whole := planeOf(t, model, data, q, s, read)
		for r := range data.X.Rows {
			part := planeOf(t, model, pairs(slices.Delete(slices.Clone(data.X.Data), 2*r, 2*r+2)...), q, s, read)
			for _, order := range []int{2, 4} {
				ratio = max(ratio, renyi(whole, part, order)/sampledGaussian(q, claimed, order))
			}
		}
	}
	return ratio
}

// TestSmallWorldsOfAdaptiveClipping checks the joint law of the sum and the count of records that were
// not clipped. Neighbours are never farther apart than the event claims, and nearly that far for a
// record just within the clip norm. The control does not charge the count and exceeds the claim.
func TestSmallWorldsOfAdaptiveClipping(t *testing.T) {
	const q, clip, z, count = 0.25, 0.5, 1.2, 2.5
	sumAndCount := func(r *release, total []int64) [2]float64 {
		return [2]float64{float64(total[0]) / r.grid.sigma, float64(total[2]) / r.grid.sigma}
	}
	worlds := []Data{pairs(0.5, 0), pairs(0.5, 0, 9, 0, -0.2, 0), pairs(-9, 0, 0.49, 0), pairs(0.01, 0)}
	s := setting{noiseMultiplier: z, clip: FlatClip(clip), countMultiplier: count}
	cfg := Config{SamplingProbability: q, NoiseMultiplier: z, Steps: 1, ClipNorm: clip, LearningRate: 1, Clipping: adaptive}
	cfg.Clipping.Adaptive.CountNoise = count
	require.NoError(t, cfg.Validate())
	joint := jointMultiplier(z, count)
	require.Equal(t, cfg.EventAfter(1), accountant.Repeated{Event: gaussianStep(q, joint), Count: 1})
	ratio := closest(t, newPair(1, 1), worlds, q, s, joint, sumAndCount)
	require.LessOrEqual(t, ratio, 1+1e-9)
	require.Greater(t, ratio, 0.98)
	require.Greater(t, closest(t, newPair(1, 1), worlds[:1], q, s, z, sumAndCount), 1.1, "the control: the count is free")
}

// TestSmallWorldsOfGroupClipping clips groups one by one, under noise for all of them together. The
// control scales the noise to the norm of one group.
func TestSmallWorldsOfGroupClipping(t *testing.T) {
	const q, z = 0.25, 1.2
	worlds := []Data{pairs(9, 9, 0.1, -9), pairs(0.3, -0.4), pairs(-9, 0.4, 0, 0, 9, 9)}
	clip := testkit.Must(Config{Clipping: Clipping{GroupNorms: []float64{0.3, 0.4}}}.clip(newPair(1, 1)))
	require.InDelta(t, 0.5, clip.Norm(), 1e-15)
	s := setting{noiseMultiplier: z, clip: clip}
	ratio := closest(t, newPair(1, 1), worlds, q, s, z, bothParameters)
	require.LessOrEqual(t, ratio, 1+1e-9)
	require.Greater(t, ratio, 0.98)

	oneNormOnly := func(r *release, total []int64) [2]float64 {
		g := gridOf(t, z, 0.3, 2, r.records, 0)
		scale := g.perUnit / r.grid.perUnit / g.sigma
		return [2]float64{float64(total[0]) * scale, float64(total[1]) * scale}
	}
	require.Greater(t, closest(t, newPair(1, 1), worlds[:1], q, s, z, oneNormOnly), 1.1)
}

// TestJointMultiplier checks that the joint multiplier is rounded down, and symmetric.
func TestJointMultiplier(t *testing.T) {
	require.InDelta(t, 1/math.Sqrt(2), jointMultiplier(1, 1), 1e-12)
	require.Less(t, jointMultiplier(1, 1), 1/math.Sqrt(2))
	require.Equal(t, jointMultiplier(3, 4), jointMultiplier(4, 3))
	require.InDelta(t, 2.4, jointMultiplier(3, 4), 1e-12)
	require.Less(t, jointMultiplier(1, maxNoise), 1.0)
}
