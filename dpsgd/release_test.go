package dpsgd

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/rng"
)

// addNoise adds the noise of a step to total.
func addNoise(r *release, step uint64) {
	r.fresh = r.noiseKey(step)
	r.read(1, func(int, int, []float64) {})
}

// noiseOf returns what a release adds to a sum of integers.
func noiseOf(t *testing.T, sum []int64) []int64 {
	t.Helper()
	r, err := newRelease(toy{parameter: make([]float32, len(sum))}, column(1), setting{probability: 1, noiseMultiplier: 1, clip: FlatClip(1)}, 0, 2)
	require.NoError(t, err)
	r.key = rng.SeedKey(1)
	r.total = slices.Clone(sum)
	addNoise(r, 3)
	for i, v := range sum {
		r.total[i] -= v
	}
	return r.total
}

// TestSumsThatDifferMeetOtherNoise checks, under one key and step, that the same sum meets the same noise. A
// sum that differs by a unit, in any place, must meet other noise in every place.
func TestSumsThatDifferMeetOtherNoise(t *testing.T) {
	sum := make([]int64, 2*spanLength+5)
	noise := noiseOf(t, sum)
	require.Equal(t, noise, noiseOf(t, sum))
	for _, place := range []int{0, spanLength, len(sum) - 1} {
		sum[place]++
		other := noiseOf(t, sum)
		sum[place]--
		for i := range noise {
			require.NotEqual(t, noise[i], other[i], "place %d, number %d", place, i)
		}
	}
}

// TestBlocksComeFromThePublicNumber checks that, if Records is set, a record more or less
// changes neither the number of blocks nor the divisor.
func TestBlocksComeFromThePublicNumber(t *testing.T) {
	blocks := func(rows, records int) int {
		r, err := newRelease(toy{parameter: []float32{0}}, column(make([]float32, rows)...), setting{probability: 1, noiseMultiplier: 1, clip: FlatClip(1)}, records, 1)
		require.NoError(t, err)
		return r.batch.blocks
	}
	require.NotEqual(t, blocks(96, 0), blocks(97, 0), "the numbers do not show it")
	require.Equal(t, blocks(96, 96), blocks(97, 96))

	sum := func(records int) float64 {
		cfg := Config{SamplingProbability: 1, NoiseMultiplier: 1, ClipNorm: 1, Steps: 1, LearningRate: 1, Records: records}
		m := toy{parameter: []float32{0}}
		_, err := train(t.Context(), t, m, column(1, 1), cfg, rng.SeedKey(1))
		require.NoError(t, err)
		return float64(m.parameter[0])
	}
	require.NotEqual(t, sum(1), sum(2))
}

// tooMuch breaks the second obligation of a Worker.
type tooMuch struct {
	toy
	add float32
}

func (m tooMuch) Worker() Worker { return tooMuchWorker{add: m.add} }

type tooMuchWorker struct {
	toyWorker
	add float32
}

func (w tooMuchWorker) AddClipped(sum []float32, data Data, rows []int, clip Clip) Tally {
	sum[0] += w.add
	return Tally{}
}

// TestAWorkerThatAddsTooMuchReleasesNothing checks that what the noise does not cover is
// not released, and that the model stays as it was.
func TestAWorkerThatAddsTooMuchReleasesNothing(t *testing.T) {
	cfg := Config{SamplingProbability: 1, NoiseMultiplier: 1, ClipNorm: 1, Steps: 1, LearningRate: 1}
	for _, add := range []float32{2.001, float32(math.Inf(-1)), float32(math.NaN())} {
		m := tooMuch{toy: toy{parameter: []float32{0.5}}, add: add}
		_, err := train(t.Context(), t, m, column(1, 1), cfg, rng.SeedKey(1))
		require.ErrorContains(t, err, "second obligation", "%v", add)
		require.Equal(t, float32(0.5), m.parameter[0])
	}
	m := tooMuch{toy: toy{parameter: []float32{0.5}}, add: 2}
	_, err := train(t.Context(), t, m, column(1, 1), cfg, rng.SeedKey(1))
	require.NoError(t, err)
}

// Every run of parameters has noise of its own: with one stream for all, the difference
// of two parameters would be bare.
func TestSpansMeetOtherNoise(t *testing.T) {
	law, err := rng.NewDiscreteGaussian(1 << minGridBits)
	require.NoError(t, err)
	const spans = 3
	r := &release{key: rng.SeedKey(1), workers: 1, noise: law, parameters: spans * spanLength, total: make([]int64, spans*spanLength), scratch: make([]*scratch, spans)}
	addNoise(r, 0)
	for i := range spans {
		for j := range i {
			same := 0
			for k := range spanLength {
				if r.total[i*spanLength+k] == r.total[j*spanLength+k] {
					same++
				}
			}
			require.Less(t, same, 3, "runs %d and %d", i, j)
		}
	}
}

// Every step has a sample and noise of its own, whatever the sums are.
func TestStepsMeetOtherSamplesAndNoise(t *testing.T) {
	records := make([]float32, 300)
	r, err := newRelease(toy{parameter: make([]float32, 8)}, column(records...), setting{probability: 0.3, noiseMultiplier: 1, clip: FlatClip(1)}, 0, 1)
	require.NoError(t, err)
	r.key = rng.SeedKey(1)
	noise, samples := map[int64]bool{}, map[string]bool{}
	const steps = 5
	for step := range uint64(steps) {
		_, err := r.run(t.Context(), step)
		require.NoError(t, err)
		samples[fmt.Sprint(r.batch.rows)] = true
		require.Zero(t, r.total[0], "the sums do not differ")
		r.read(1, func(int, int, []float64) {})
		noise[r.total[0]] = true
	}
	require.Len(t, samples, steps)
	require.Len(t, noise, steps)
}

// All that a run is a function of is in the hash that its key comes from.
func TestFingerprintHoldsEverything(t *testing.T) {
	type input struct {
		configuration string
		model         toy
		data          Data
	}
	base := func() input {
		d := column(1, 2, 3)
		d.Y = []int{0, 1, 2}
		return input{"a", toy{parameter: []float32{1, 2}}, d}
	}
	seen := map[string]string{}
	for name, change := range map[string]func(*input){
		"nothing":       func(*input) {},
		"configuration": func(i *input) { i.configuration = "b" },
		"parameters":    func(i *input) { i.model.parameter[1] = 2.5 },
		"more of them":  func(i *input) { i.model.parameter = append(i.model.parameter, 0) },
		"a record":      func(i *input) { i.data = column(1, 2, 4); i.data.Y = []int{0, 1, 2} },
		"a label":       func(i *input) { i.data.Y = []int{0, 1, 1} },
		"units":         func(i *input) { i.data.Ends = []int{1, 3} },
		"other units":   func(i *input) { i.data.Ends = []int{2, 3} },
		"single units":  func(i *input) { i.data.Ends = []int{1, 2, 3} },
		"packed":        func(i *input) { i.data.Packed, i.data.X = doubled{i.data.X}, blas32.General{} },
		"packed others": func(i *input) { i.data.Packed, i.data.X = doubled{column(1, 2, 4).X}, blas32.General{} },
		"a record less": func(i *input) { i.data = column(1, 2); i.data.Y = []int{0, 1} },
	} {
		i := base()
		change(&i)
		sum := string(fingerprint(i.configuration, i.model, i.data, 1))
		require.NotContains(t, seen, sum, "%s and %s", name, seen[sum])
		seen[sum] = name
	}
}
