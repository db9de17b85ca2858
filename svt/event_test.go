package svt

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// What is charged is what runs: every field of a configuration is in its event.
func TestEventsAreTheConfigurations(t *testing.T) {
	for _, cfg := range []StableSVTConfig{
		{B1: 4, B2: 8, Threshold: 40, Failures: 1}, {B1: 1, B2: 2, Threshold: 0, Failures: 7}, {B1: 100, B2: 3, Threshold: 999, Failures: 50},
	} {
		m := newStable(t, cfg)
		require.Equal(t, accountant.StableSVT{B1: cfg.B1, B2: cfg.B2, Threshold: cfg.Threshold, Failures: int64(cfg.Failures)}, m.Event())
		require.Equal(t, Law{
			Threshold: -float64(cfg.Threshold), ThresholdNoise: Noise{Geometric, cfg.B1}, QueryNoise: Noise{Geometric, cfg.B2}, Stop: cfg.Failures,
		}, m.Law())
	}
	for _, cfg := range []SparseVectorConfig{
		{Noise: Geometric, Epsilon: 0.5, Answers: 3, Sensitivity: 2}, {Noise: DiscreteLaplace, Epsilon: 8, Answers: 1, Sensitivity: 1, Monotone: true},
	} {
		m := newSparse(t, cfg)
		require.Equal(t, accountant.PureDP{Epsilon: cfg.Epsilon}, m.Event())
	}
}

// Runs of other parameters under one key never share noise.
func TestRunsOfOtherParametersMeetOtherNoise(t *testing.T) {
	seen := map[uint64]any{}
	add := func(cfg any, key rng.Key) {
		word := key.Stream().Uint64()
		require.NotContains(t, seen, word, "%+v and %+v", seen[word], cfg)
		seen[word] = cfg
	}
	for _, cfg := range []StableSVTConfig{
		{B1: 4, B2: 8, Threshold: 40, Failures: 1}, {B1: 5, B2: 8, Threshold: 40, Failures: 1}, {B1: 4, B2: 9, Threshold: 40, Failures: 1},
		{B1: 4, B2: 8, Threshold: 41, Failures: 1}, {B1: 4, B2: 8, Threshold: 40, Failures: 2},
	} {
		m := newStable(t, cfg)
		s := testkit.Must(Start[int](m, reserve(t, m.Event()), rng.SeedKey(1)))
		add(cfg, s.run.key)
	}
	for _, cfg := range []MSvecConfig{
		{Lambda: 4, Threshold: 100, Failures: 1}, {Lambda: 5, Threshold: 100, Failures: 1}, {Lambda: 4, Threshold: 101, Failures: 1}, {Lambda: 4, Threshold: 100, Failures: 2},
	} {
		m := newMSvec(t, cfg)
		s := testkit.Must(Start[int](m, reserve(t, m.Event()), rng.SeedKey(1)))
		add(cfg, s.run.key)
	}
	for _, cfg := range []SparseVectorConfig{
		{Noise: Geometric, Epsilon: 1, Answers: 1, Sensitivity: 1}, {Noise: DiscreteLaplace, Epsilon: 1, Answers: 1, Sensitivity: 1},
		{Noise: Geometric, Epsilon: 2, Answers: 1, Sensitivity: 1}, {Noise: Geometric, Epsilon: 1, Answers: 2, Sensitivity: 1},
		{Noise: Geometric, Epsilon: 1, Answers: 1, Sensitivity: 2}, {Noise: Geometric, Epsilon: 1, Answers: 1, Sensitivity: 1, Threshold: 5},
	} {
		m := newSparse(t, cfg)
		s := testkit.Must(m.Start(reserve(t, m.Event()), rng.SeedKey(1)))
		add(cfg, s.run.key)
	}
}
