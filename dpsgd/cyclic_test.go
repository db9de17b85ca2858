package dpsgd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
)

// inverse returns the first column of the inverse of the Toeplitz matrix with first column c.
func inverse(c []float64, steps int) []float64 {
	inv := make([]float64, steps)
	for t := range inv {
		if t == 0 {
			inv[t] = 1
		}
		for l := 1; l < len(c) && l <= t; l++ {
			inv[t] -= c[l] * inv[t-l]
		}
		inv[t] /= c[0]
	}
	return inv
}

// TestBandedCoefficients: columns have norm one, also as the integers that are used, and noise adds up
// to less over many steps the more bands there are.
func TestBandedCoefficients(t *testing.T) {
	require.Equal(t, []float64{1}, bandedCoefficients(1))
	require.Equal(t, []uint64{1 << bandBits}, wholeCoefficients(1), "no rounding without bands")
	three := bandedCoefficients(3)
	require.InDelta(t, 1/math.Sqrt(1+1./4+9./64), three[0], 1e-15)
	require.InDelta(t, 3./8, three[2]/three[0], 1e-15)
	const steps = 64
	last := math.Inf(1)
	for _, bands := range []int{1, 2, 4, 16, 64} {
		c, whole := bandedCoefficients(bands), wholeCoefficients(bands)
		square, most := uint64(0), uint64(1)<<(2*bandBits)
		for i := range c {
			square += whole[i] * whole[i]
			require.LessOrEqual(t, square, most)
			require.InDelta(t, c[i], math.Ldexp(float64(whole[i]), -bandBits), 1e-8)
		}
		require.InDelta(t, 1, normOf(c), 1e-12)
		require.Greater(t, float64(square), float64(most)*(1-1e-6), "the norm is used up")
		prefix, errors := 0.0, 0.0 // of the sum of the first steps
		for t, v := range inverse(c, steps) {
			prefix += v
			errors += prefix * prefix * float64(steps-t)
		}
		require.Less(t, errors, 0.95*last)
		last = errors
	}
	require.Less(t, last, 0.16*steps*(steps+1)/2, "a sixth of the variance of independent noise")
}

// floorsOf returns in how many releases a contribution is rounded down once more.
func floorsOf(bands int) int {
	if bands == 1 {
		return 0
	}
	return bands
}

// TestCorrelatedNoiseHasItsCovariance compares the covariance of what takes the place of sums over
// steps with the matrix C^-1 C^-T. 65,544 parameters each; false-alarm rate 1e-7.
func TestCorrelatedNoiseHasItsCovariance(t *testing.T) {
	const steps = 6
	data := Data{X: dense.New(3, 8), Y: make([]int, 3)}
	for _, bands := range []int{1, 3, 6} {
		m := newWide(1)
		cfg := Config{SamplingProbability: 0.1, NoiseMultiplier: 2, ClipNorm: 1, Steps: steps, LearningRate: 1, Sampling: cycle(bands)}
		tr := trainerOf(t, m, data, cfg, uint64(bands))
		require.Equal(t, gridOf(t, cfg.NoiseMultiplier, cfg.ClipNorm, len(m.parameters), 3, floorsOf(bands)), tr.release.grid)
		var x [steps][]float64
		for s := range steps {
			stepOf(t, tr)
			for _, v := range tr.release.total {
				x[s] = append(x[s], float64(v)/tr.release.grid.sigma)
			}
		}
		inv := inverse(bandedCoefficients(bands), steps)
		covariance := func(s, r int) (c float64) {
			for k := range min(s, r) + 1 {
				c += inv[s-k] * inv[r-k]
			}
			return c
		}
		n := float64(len(m.parameters))
		for s := range steps {
			for r := range s + 1 {
				got, want := 0.0, covariance(s, r)
				for i := range x[s] {
					got += x[s][i] * x[r][i] / n
				}
				deviation := math.Sqrt((covariance(s, s)*covariance(r, r) + want*want) / n)
				require.InDelta(t, want, got, 6.2*deviation, "bands %d, steps %d and %d", bands, s, r)
			}
		}
	}
}

// unrolled returns the integers of every step that its noise z is added to, plus what was released
// before, by the coefficients: C s, rounded down, if all is right. The released numbers are those of
// another run where they are given, as neighbours are compared.
func unrolled(coefficients []uint64, sums, z, released [][]int64) (means [][]float64, out [][]int64) {
	b := &banded{coefficients: coefficients}
	for range coefficients {
		b.noise = append(b.noise, make([]int64, len(sums[0])))
	}
	var x [][]int64
	for t := range sums {
		v := slices.Clone(sums[t])
		b.before(v, 0, t)
		mean := make([]float64, len(v))
		for j := range v {
			mean[j] = float64(v[j])
			for l := 1; l < len(coefficients) && l <= t; l++ {
				mean[j] += math.Ldexp(float64(coefficients[l]), -bandBits) * float64(x[t-l][j])
			}
			if released != nil {
				v[j] = released[t][j]
			} else {
				v[j] += z[t][j]
			}
		}
		means, out = append(means, mean), append(out, slices.Clone(v))
		b.after(v, 0, t)
		x = append(x, v)
	}
	return means, out
}

// TestABandIsASampledGaussianStep: for all sets of steps at least so many bands apart, records move the
// integers of a block of steps by at most the grid's bound, and no others. Two controls exceed it:
// steps that are next to each other, and columns that are too long.
func TestABandIsASampledGaussianStep(t *testing.T) {
	const steps, parameters = 6, 3
	rnd := rand.New(rand.NewPCG(4, 4))
	vector := func(norm float64) []int64 {
		v := testkit.Series(parameters, func(j int) float64 { return rnd.NormFloat64() })
		return testkit.Series(parameters, func(j int) int64 { return int64(v[j] / normOf(v) * norm) })
	}
	check := func(bands int, multiplier float64) {
		floors := floorsOf(bands)
		g, plain := gridOf(t, multiplier, 1, parameters, 10, floors), gridOf(t, multiplier, 1, parameters, 10, 0)
		require.InDelta(t, math.Sqrt(float64(floors*parameters)), g.sensitivity-plain.sensitivity, 1+math.Abs(g.perUnit-plain.perUnit))
		bound := g.sigma / multiplier
		largest, near, long := 0.0, 0.0, 0.0
		for set := range 1 << steps {
			apart, last := true, -steps
			gradient := vector(g.perUnit)
			var sums, with, z [][]int64
			for s := range steps {
				sums, z = append(sums, vector(5*bound*rnd.Float64())), append(z, vector(g.sigma))
				with = append(with, slices.Clone(sums[s]))
				if set>>s&1 == 1 {
					apart, last = apart && s-last >= bands, s
					for j, d := range gradient {
						with[s][j] += d
					}
				}
			}
			whole := wholeCoefficients(bands)
			means, released := unrolled(whole, sums, z, nil)
			moved, _ := unrolled(whole, with, nil, released)
			shift := func(low, high int) (square float64) {
				for s := low; s < high; s++ {
					for j := range parameters {
						square += (moved[s][j] - means[s][j]) * (moved[s][j] - means[s][j])
					}
				}
				return square
			}
			if !apart { // of as many blocks as there may be
				near = max(near, shift(0, steps)/(bound*bound)/math.Ceil(float64(steps)/float64(bands)))
				continue
			}
			for s := 0; s < steps; {
				if set>>s&1 == 0 {
					require.Zero(t, shift(s, s+1), "a step of no block")
					s++
					continue
				}
				end := min(s+bands, steps)
				largest = max(largest, math.Sqrt(shift(s, end))/bound)
				s = end
			}
			for i := range whole { // twice the norm
				whole[i] *= 2
			}
			means, _ = unrolled(whole, sums, nil, released)
			moved, _ = unrolled(whole, with, nil, released)
			for s := range steps {
				long = max(long, math.Sqrt(shift(s, s+1))/bound)
			}
		}
		require.LessOrEqual(t, largest, 1.0)
		require.Greater(t, largest, 0.999)
		require.Greater(t, long, 1.3)
		if bands > 1 {
			require.Greater(t, near, 2.0)
		}
	}
	for _, bands := range []int{1, 2, 3} {
		check(bands, 0.5)
		check(bands, 3)
	}
}

// twoTurns is the exact law of two steps of two bands, over the noise: record r has a turn by the law
// turns(r), and joins with probability p, in the other step too if always is set.
func twoTurns(t *testing.T, data Data, clip, p float64, g grid, coefficients []uint64, turns func(r int) []float64, always bool) []float64 {
	var weights []float64
	var means [][2]float64
	n := data.Records()
	for turn := range 1 << n {
		of := 1.0
		for r := range n {
			of *= turns(r)[turn>>r&1]
		}
		for joins := range 1 << (2 * n) {
			weight := of
			var batches [2][]int
			for step := range 2 {
				for r := range n {
					in := joins>>(2*r+step)&1 == 1
					switch {
					case turn>>r&1 != step && !always && in:
						weight = 0
					case turn>>r&1 != step && !always:
					case in:
						weight *= p
						batches[step] = append(batches[step], r)
					default:
						weight *= 1 - p
					}
				}
			}
			if weight == 0 {
				continue
			}
			var sums [][]int64
			for _, batch := range batches {
				sums = append(sums, sumOf(t, newToy(), data, FlatClip(clip), g.perUnit, batch))
			}
			m, _ := unrolled(coefficients, sums, [][]int64{{12345}, {-77}}, nil)
			weights, means = append(weights, weight), append(means, [2]float64{m[0][0] / g.sigma, m[1][0] / g.sigma})
		}
	}
	return inTwo(weights, means)
}

// TestSmallWorldsOfBands enumerates turns and batches of two steps of two bands. Neighbours are never
// farther apart than one step on a Poisson sample, which the event is, whether turns are known or not,
// and come close. Three controls are refuted by the claim: coins in every step, columns longer than
// one, and half of the probability charged.
func TestSmallWorldsOfBands(t *testing.T) {
	const clip, p, tolerance = 0.3, 0.4, 5e-4 // the last of the table
	either := func(int) []float64 { return []float64{0.5, 0.5} }
	known := func(r int) []float64 { return [][]float64{{1, 0}, {0, 1}, {1, 0}}[r] }
	for _, multiplier := range sampled(0.8, 2) {
		g := gridOf(t, multiplier, clip, 1, 3, 2)
		cfg := Config{Steps: 2, SamplingProbability: p / 2, NoiseMultiplier: multiplier, ClipNorm: clip, LearningRate: 1, Sampling: cycle(2)}
		require.NoError(t, cfg.Validate())
		claims := map[float64]float64{}
		for _, e := range []float64{0.1, 0.5, 1} {
			claims[e] = claimed(t, cfg, e)
		}
		exceeds := func(whole, part []float64) float64 {
			most := math.Inf(-1)
			for e, claim := range claims {
				most = max(most, testkit.EitherHockeyStick(whole, part, e)-claim)
			}
			return most
		}
		whole := wholeCoefficients(2)
		closest := 0.0
		for _, values := range [][]float32{{9}, {9, -9}, {0.3, 0.1, -0.3}} {
			for i, turns := range []func(int) []float64{known, either} {
				if i > 0 && len(values) > 2 { // for the time that it takes
					continue
				}
				law := twoTurns(t, column(values...), clip, p, g, whole, turns, false)
				last := len(values) - 1 // whose removal moves no other one's turn
				part := twoTurns(t, column(values[:last]...), clip, p, g, whole, turns, false)
				require.LessOrEqual(t, exceeds(law, part), tolerance)
				for _, order := range []int{2, 3, 6} {
					closest = max(closest, renyi(law, part, order)/sampledGaussian(p, multiplier, order))
				}
			}
		}
		require.LessOrEqual(t, closest, 1+1e-9)
		require.Greater(t, closest, 0.99)
		one, none := column(9), column(0)
		bare := twoTurns(t, none, clip, p, g, whole, known, false)
		require.Greater(t, exceeds(twoTurns(t, one, clip, p, g, whole, known, true), bare), 0.01, "coins in every step go unnoticed")
		require.Greater(t, exceeds(twoTurns(t, one, clip, 2*p, g, whole, known, false), bare), 0.01, "twice the probability goes unnoticed")
		long := []uint64{1 << bandBits, 1 << (bandBits - 1)} // 1, 1/2
		require.Greater(t, exceeds(twoTurns(t, one, clip, p, g, long, known, false), twoTurns(t, none, clip, p, g, long, known, false)), 0.002, "long columns go unnoticed")
	}
}

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

func TestJointMultiplier(t *testing.T) {
	require.InDelta(t, 1/math.Sqrt(2), jointMultiplier(1, 1), 1e-12)
	require.Less(t, jointMultiplier(1, 1), 1/math.Sqrt(2))
	require.Equal(t, jointMultiplier(3, 4), jointMultiplier(4, 3))
	require.InDelta(t, 2.4, jointMultiplier(3, 4), 1e-12)
	require.Less(t, jointMultiplier(1, maxNoise), 1.0)
}
