package dpsgd

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/ledger"
)

// noiseOf returns what a release adds to a sum of integers.
func noiseOf(t *testing.T, sum []int64) []int64 {
	t.Helper()
	r, err := newRelease(toy{parameter: make([]float32, len(sum))}, column(1), setting{probability: 1, noiseMultiplier: 1, clip: FlatClip(1)}, 0, 2)
	require.NoError(t, err)
	r.key = SeedKey(1)
	copy(r.total, sum)
	r.addNoise(3)
	for i, v := range sum {
		r.total[i] -= v
	}
	return r.total
}

// TestSumsThatDifferMeetOtherNoise checks, under one key and step, that the same sum meets
// the same noise. A sum that differs by a unit, in any place, must meet other noise in
// every place.
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
		_, err := Train(context.Background(), m, column(1, 1), cfg, reserve(t, cfg), SeedKey(1))
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
		_, err := Train(context.Background(), m, column(1, 1), cfg, reserve(t, cfg), SeedKey(1))
		require.ErrorContains(t, err, "second obligation", "%v", add)
		require.Equal(t, float32(0.5), m.parameter[0])
	}
	m := tooMuch{toy: toy{parameter: []float32{0.5}}, add: 2}
	_, err := Train(context.Background(), m, column(1, 1), cfg, reserve(t, cfg), SeedKey(1))
	require.NoError(t, err)
}

// TestWhatCannotBeTrainedIsNotCharged checks that the reservation stays unused.
func TestWhatCannotBeTrainedIsNotCharged(t *testing.T) {
	cfg := Config{SamplingProbability: 1, NoiseMultiplier: 1, ClipNorm: 1, Steps: 1, LearningRate: 1}
	scored := cfg
	scored.Observe = func(Metrics) {}
	scored.Public = column(float32(math.NaN()))
	nan := float32(math.NaN())
	for want, run := range map[string]func(*ledger.Reservation) error{
		"parameter 0 of the model is not finite": func(r *ledger.Reservation) error {
			_, err := Train(context.Background(), toy{parameter: []float32{nan}}, column(1), cfg, r, SeedKey(1))
			return err
		},
		"no parameters": func(r *ledger.Reservation) error {
			_, err := Train(context.Background(), toy{}, column(1), cfg, r, SeedKey(1))
			return err
		},
		"row 0 has a value that is not finite": func(r *ledger.Reservation) error {
			_, err := Train(context.Background(), toy{parameter: []float32{0}}, column(1), scored, r, SeedKey(1))
			return err
		},
	} {
		r := reserve(t, cfg)
		require.ErrorContains(t, run(r), want)
		_, err := Train(context.Background(), toy{parameter: []float32{0}}, column(1), cfg, r, SeedKey(1))
		require.NoError(t, err, want)
	}
}

func TestScaleOfAutomaticClippingStaysWithinFloat32(t *testing.T) {
	clip := Clip{Norms: []float64{0x1p40}, Stabilizer: 0x1p-40}
	scale, _ := clip.Scale(0, 0)
	require.Equal(t, 0x1p60, scale)
	scale, _ = clip.Scale(0, 0x1p50)
	require.InEpsilon(t, 0x1p-10, scale, 1e-12)
}
