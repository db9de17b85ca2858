package dpsgd

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// TestABandIsASampledGaussianStep: for all sets of steps at least so many bands apart, records
// move the integers of a block of steps by at most the grid's bound, and no others. Two
// controls exceed it: steps that are next to each other, and columns that are too long.
func TestABandIsASampledGaussianStep(t *testing.T) {
	const steps, parameters = 6, 3
	rnd := rand.New(rand.NewPCG(4, 4))
	for _, bands := range []int{1, 2, 3} {
		for _, multiplier := range []float64{0.5, 3} {
			floors := bands
			if bands == 1 {
				floors = 0
			}
			g, err := newGrid(multiplier, 1, parameters, 10, floors)
			require.NoError(t, err)
			plain, err := newGrid(multiplier, 1, parameters, 10, 0)
			require.NoError(t, err)
			require.InDelta(t, math.Sqrt(float64(floors*parameters)), g.sensitivity-plain.sensitivity, 1+math.Abs(g.perUnit-plain.perUnit))
			bound := g.sigma / multiplier
			vector := func(norm float64) []int64 {
				v, square := make([]float64, parameters), 0.0
				for j := range v {
					v[j] = rnd.NormFloat64()
					square += v[j] * v[j]
				}
				out := make([]int64, parameters)
				for j := range out {
					out[j] = int64(v[j] / math.Sqrt(square) * norm)
				}
				return out
			}
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
				shift := func(s int) (square float64) {
					for j := range parameters {
						square += (moved[s][j] - means[s][j]) * (moved[s][j] - means[s][j])
					}
					return square
				}
				if !apart { // of as many blocks as there may be
					square := 0.0
					for s := range steps {
						square += shift(s)
					}
					near = max(near, square/(bound*bound)/math.Ceil(float64(steps)/float64(bands)))
					continue
				}
				for s := 0; s < steps; {
					if set>>s&1 == 0 {
						require.Zero(t, shift(s), "a step of no block")
						s++
						continue
					}
					square := 0.0
					for end := min(s+bands, steps); s < end; s++ {
						square += shift(s)
					}
					require.LessOrEqual(t, math.Sqrt(square), bound)
					largest = max(largest, math.Sqrt(square)/bound)
				}
				for i := range whole { // twice the norm
					whole[i] *= 2
				}
				means, _ = unrolled(whole, sums, nil, released)
				moved, _ = unrolled(whole, with, nil, released)
				for s := range steps {
					long = max(long, math.Sqrt(shift(s))/bound)
				}
			}
			require.Greater(t, largest, 0.999)
			require.Greater(t, long, 1.3)
			if bands > 1 {
				require.Greater(t, near, 2.0)
			}
		}
	}
}

// twoTurns is the exact law of two steps of two bands, over the noise: every record has the
// turn that its bit in first says, and joins with probability p, in the other step too if
// always is set.
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
				sums = append(sums, sumOf(t, toy{make([]float32, 1)}, data, FlatClip(clip), g.perUnit, [][]int{batch}))
			}
			m, _ := unrolled(coefficients, sums, [][]int64{{12345}, {-77}}, nil)
			weights, means = append(weights, weight), append(means, [2]float64{m[0][0] / g.sigma, m[1][0] / g.sigma})
		}
	}
	return inTwo(weights, means)
}

// TestSmallWorldsOfBands enumerates turns and batches of two steps of two bands. Neighbours
// are never farther apart than one step on a Poisson sample, which the event is, whether turns
// are known or not, and come close. Three controls are refuted by the claim: coins in every
// step, columns longer than one, and half of the probability charged.
func TestSmallWorldsOfBands(t *testing.T) {
	const clip, p, tolerance = 0.3, 0.4, 5e-4 // the last of the table
	either := func(int) []float64 { return []float64{0.5, 0.5} }
	known := func(r int) []float64 { return [][]float64{{1, 0}, {0, 1}, {1, 0}}[r] }
	for _, multiplier := range []float64{0.8, 2} {
		g, err := newGrid(multiplier, clip, 1, 3, 2)
		require.NoError(t, err)
		cfg := Config{Steps: 2, SamplingProbability: p / 2, NoiseMultiplier: multiplier, ClipNorm: clip, LearningRate: 1, Sampling: cycle(2)}
		require.NoError(t, cfg.Validate())
		claim := func(e float64) float64 {
			account, err := accountant.NewPLD(accountant.PLDConfig{Relation: accountant.AddRemove})
			require.NoError(t, err)
			require.NoError(t, account.Compose(cfg.Event(), 1))
			b, err := account.Delta(context.Background(), e)
			require.NoError(t, err)
			return b.Upper
		}
		epsilons := []float64{0.1, 0.5, 1}
		exceeds := func(whole, part []float64) (most float64) {
			most = math.Inf(-1)
			for _, e := range epsilons {
				most = max(most, testkit.EitherHockeyStick(whole, part, e)-claim(e))
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
					ratio := max(renyi(law, part, order), renyi(part, law, order)) / sampledGaussian(p, multiplier, order)
					require.LessOrEqual(t, ratio, 1+1e-9)
					closest = max(closest, ratio)
				}
			}
		}
		require.Greater(t, closest, 0.99)
		one, none := column(9), column(0)
		bare := twoTurns(t, none, clip, p, g, whole, known, false)
		require.Greater(t, exceeds(twoTurns(t, one, clip, p, g, whole, known, true), bare), 0.01, "coins in every step go unnoticed")
		require.Greater(t, exceeds(twoTurns(t, one, clip, 2*p, g, whole, known, false), bare), 0.01, "twice the probability goes unnoticed")
		long := []uint64{1 << bandBits, 1 << (bandBits - 1)} // 1, 1/2
		require.Greater(t, exceeds(twoTurns(t, one, clip, p, g, long, known, false), twoTurns(t, none, clip, p, g, long, known, false)), 0.002, "long columns go unnoticed")
	}
}
