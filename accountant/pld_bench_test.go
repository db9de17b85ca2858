package accountant

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

func benchmarkEpsilon(b *testing.B, cfg PLDConfig, compose func(p *PLD)) {
	var last Bound
	for b.Loop() {
		p := newPLD(b, cfg)
		compose(p)
		last = testkit.Must(p.Epsilon(context.Background(), 1e-5))
	}
	b.ReportMetric(last.Upper-last.Lower, "width")
	b.ReportMetric(last.Upper, "epsilon")
}

// q = 0.01, noise multiplier 1, delta 1e-5, both sides.
func BenchmarkPLDEpsilon(b *testing.B) {
	for _, gap := range []float64{1e-3, 1e-5} {
		for _, steps := range []int64{1000, 10000, 100000} {
			b.Run(fmt.Sprintf("gap=%g/steps=%d", gap, steps), func(b *testing.B) {
				benchmarkEpsilon(b, PLDConfig{Gap: gap}, func(p *PLD) {
					require.NoError(b, p.Compose(sgd(0.01, 1, steps), 1))
				})
			})
		}
	}
}

// BenchmarkPLDManySteps has windows of very many points, and what rounds for every step.
func BenchmarkPLDManySteps(b *testing.B) {
	for _, c := range []struct {
		q     float64
		steps int64
	}{{1e-4, 1e7}, {0.01, 1e7}, {1e-5, 1e9}, {1e-6, 1e9}} {
		b.Run(fmt.Sprintf("q=%g/steps=%g", c.q, float64(c.steps)), func(b *testing.B) {
			benchmarkEpsilon(b, PLDConfig{}, func(p *PLD) {
				require.NoError(b, p.Compose(sgd(c.q, 1, c.steps), 1))
			})
		})
	}
}

// 100 separate compositions of one step.
func BenchmarkPLDSeparateSteps(b *testing.B) {
	benchmarkEpsilon(b, PLDConfig{}, func(p *PLD) {
		for range 100 {
			require.NoError(b, p.Compose(PoissonSampled{0.01, Gaussian{1}}, 1))
		}
	})
}

// 100 phases of 10 steps, each with its own noise.
func BenchmarkPLDPhases(b *testing.B) {
	benchmarkEpsilon(b, PLDConfig{}, func(p *PLD) {
		for i := range 100 {
			require.NoError(b, p.Compose(sgd(0.01, 1+float64(i)/100, 10), 1))
		}
	})
}

// The noise for epsilon 2 in 1000 steps.
func BenchmarkPLDCalibrate(b *testing.B) {
	var noise float64
	for b.Loop() {
		var err error
		noise, _, err = CalibrateNoise(context.Background(), PLDConfig{Relation: AddRemove}.NewAccount, Target{2, 1e-5},
			func(noise float64) (Event, error) { return sgd(0.01, noise, 1000), nil })
		require.NoError(b, err)
	}
	b.ReportMetric(noise, "noise")
}
