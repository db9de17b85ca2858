package accountant

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkPLDEpsilon asks for both ends at delta 1e-5: few steps and many, of windows of very many points and
// of what rounds for every step, 100 separate compositions of one step, and 100 phases with noise of their own.
func BenchmarkPLDEpsilon(b *testing.B) {
	var phases, separate []Event
	for i := range 100 {
		separate = append(separate, PoissonSampled{0.01, Gaussian{1}})
		phases = append(phases, sgd(0.01, 1+float64(i)/100, 10))
	}
	for _, c := range []struct {
		name   string
		gap    float64
		events []Event
	}{
		{"steps=1000", 1e-3, []Event{sgd(0.01, 1, 1000)}}, {"steps=10000", 1e-3, []Event{sgd(0.01, 1, 10000)}},
		{"steps=100000", 1e-3, []Event{sgd(0.01, 1, 100000)}}, {"steps=1000/gap=1e-05", 1e-5, []Event{sgd(0.01, 1, 1000)}},
		{"steps=10000/gap=1e-05", 1e-5, []Event{sgd(0.01, 1, 10000)}}, {"steps=100000/gap=1e-05", 1e-5, []Event{sgd(0.01, 1, 100000)}},
		{"steps=1e7/q=1e-4", 0, []Event{sgd(1e-4, 1, 1e7)}}, {"steps=1e7", 0, []Event{sgd(0.01, 1, 1e7)}},
		{"steps=1e9/q=1e-5", 0, []Event{sgd(1e-5, 1, 1e9)}}, {"steps=1e9/q=1e-6", 0, []Event{sgd(1e-6, 1, 1e9)}},
		{"separate=100", 0, separate}, {"phases=100", 0, phases},
	} {
		b.Run(c.name, func(b *testing.B) {
			var last Bound
			for b.Loop() {
				last = pldEpsilon(b, PLDConfig{Gap: c.gap}, 1e-5, c.events...)
			}
			b.ReportMetric(last.Upper-last.Lower, "width")
			b.ReportMetric(last.Upper, "epsilon")
		})
	}
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
