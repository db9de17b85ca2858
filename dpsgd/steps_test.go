package dpsgd

import (
	"math"
	"testing"

	"github.com/pate-go/pate/rng"
	"github.com/stretchr/testify/require"
)

// moves trains a parameter on records that pull it nowhere, so that it moves by noise
// alone, and returns by how much in each step.
func moves(t *testing.T, cfg Config) []float64 {
	t.Helper()
	m := newToy()
	var at []float64
	cfg.Observe = func(Metrics) { at = append(at, float64(m.parameter[0])) }
	_, err := train(t.Context(), t, m, column(0, 0), cfg, rng.SeedKey(1))
	require.NoError(t, err)
	for i := len(at) - 1; i > 0; i-- {
		at[i] -= at[i-1]
	}
	return at
}

// Train gives every step noise of its own, although the sums are equal.
func TestTrainDrawsNewNoiseEveryStep(t *testing.T) {
	steps := moves(t, Config{SamplingProbability: 1, NoiseMultiplier: 1, ClipNorm: 1, Steps: 6, LearningRate: 1})
	require.Len(t, steps, 6)
	for i, a := range steps {
		for _, b := range steps[:i] {
			require.Greater(t, math.Abs(a-b), 1e-5)
		}
	}
}

// Each phase trains with the noise that it is charged for.
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

// Every step draws a number for each parameter, and one for the count.
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
