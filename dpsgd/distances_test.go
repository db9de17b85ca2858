package dpsgd

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// observed trains with distances, and returns them with the model.
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

// TestRowsOfDistancesAreDrawnFromTheBatch: a row is in no two distances of a step.
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
