package dpsgd

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// Two models that differ in a setting meet different noise, whether their fingerprints differ or not. So the
// difference of two releases is never the bare gradient.
func TestModelsOfOtherSettingsMeetOtherNoise(t *testing.T) {
	cfg := Config{SamplingProbability: 1, NoiseMultiplier: 50, ClipNorm: 1, Steps: 1, LearningRate: 1}
	for _, print := range []bool{false, true} {
		var out []float64
		for _, weight := range []float32{1, 0.5} {
			m := newToy()
			m.add = func(sum []float32, data Data, rows []int, clip Clip) Tally {
				before := sum[0]
				tally := addToy(sum, data, rows, clip)
				sum[0] = before + weight*(sum[0]-before)
				return tally
			}
			if print {
				m.print = fmt.Sprint(weight)
			}
			require.NoError(t, testkit.Err(train(t.Context(), t, m, constant(4, 0.25), cfg, rng.SeedKey(3))))
			out = append(out, float64(m.parameters[0]))
		}
		require.Greater(t, math.Abs(2*(out[1]-out[0])-0.25), 0.1)
	}
}

func constant(records int, value float32) Data {
	return column(slices.Repeat([]float32{value}, records)...)
}

func TestStepsDivideByTheExpectedSize(t *testing.T) {
	const records, value = 400, 0.25
	for _, cfg := range []Config{
		{SamplingProbability: 0.5, NoiseMultiplier: 0.01, ClipNorm: 1, Steps: 1, LearningRate: 1},
		{SamplingProbability: 0.5, ClipNorm: 1, Steps: 1, LearningRate: 1, NonPrivate: true},
	} {
		m := newToy()
		result := testkit.Must(train(t.Context(), t, m, constant(records, value), cfg, rng.SeedKey(2)))
		sampled := float64(result.Diagnostics.Sampled)
		require.Greater(t, math.Abs(sampled-records/2), 3.0, "a batch of about the expected size shows nothing")
		require.InDelta(t, -value*sampled/(records/2), m.parameters[0], 1e-3)
	}
}

func TestOtherSettingsDrawOtherSamples(t *testing.T) {
	sampled := func(rate float64) int64 {
		cfg := Config{SamplingProbability: 0.5, NoiseMultiplier: 5, ClipNorm: 1, Steps: 3, LearningRate: rate}
		return testkit.Must(train(t.Context(), t, newToy(), constant(10000, 0), cfg, rng.SeedKey(4))).Diagnostics.Sampled
	}
	require.Equal(t, sampled(1), sampled(1))
	require.NotEqual(t, sampled(1), sampled(2))
}

func TestTrainingLearns(t *testing.T) {
	d := clouds(3000, 6)
	m, result := trained(t, d, usual, 1)
	require.Greater(t, accuracy(t, m, d), 0.95)
	require.Equal(t, 30, result.Steps)
	require.Equal(t, usual.Event(), result.Event)
	require.InDelta(t, 0.1*3000*30, float64(result.Diagnostics.Sampled), 500)
	require.Positive(t, result.Diagnostics.Clipped)
	require.Zero(t, result.Diagnostics.NonFinite)
	require.Nil(t, result.Average)

	baseline := Config{SamplingProbability: 0.1, ClipNorm: math.Inf(1), Steps: 30, LearningRate: 1, NonPrivate: true}
	m, result = trained(t, d, baseline, 1)
	require.Greater(t, accuracy(t, m, d), 0.97)
	require.Equal(t, accountant.NonPrivate{}, result.Event)
	require.Zero(t, result.Diagnostics.Clipped)
}

func TestOnlyACryptographicKeyIsReleasable(t *testing.T) {
	secret := testkit.Must(rng.NewKey())
	bare := Config{SamplingProbability: 1, ClipNorm: 1, Steps: 1, LearningRate: 1, NonPrivate: true}
	for _, c := range []struct {
		cfg        Config
		key        rng.Key
		releasable bool
	}{{usual, rng.SeedKey(1), false}, {usual, secret, true}, {bare, secret, false}} {
		result := testkit.Must(train(t.Context(), t, newSoftmax(4, 3), clouds(100, 4), c.cfg, c.key))
		require.Equal(t, c.releasable, result.Releasable)
	}
}

// TestNoiseIsNeverMetTwice checks that runs under one key have unrelated noise if they differ in data,
// in configuration or in where they start. Batches are empty, so equal noise would give equal models.
func TestNoiseIsNeverMetTwice(t *testing.T) {
	cfg := Config{SamplingProbability: 0x1p-60, NoiseMultiplier: 1, ClipNorm: 1, Steps: 1, LearningRate: 1e-10}
	first, _ := trained(t, clouds(50, 4), cfg, 1)
	for name, differs := range map[string]func(d *Data){
		"":        func(*Data) {},
		"feature": func(d *Data) { d.X.Data[17] = math.Nextafter32(d.X.Data[17], 9) },
		"label":   func(d *Data) { d.Y[3] = (d.Y[3] + 1) % 3 },
	} {
		d := clouds(50, 4)
		differs(&d)
		m, _ := trained(t, d, cfg, 1)
		require.Equal(t, name == "", slices.Equal(first.Parameters(), m.Parameters()), name)
	}
	cfg.Steps = 2
	var firstStep []float32
	m := newSoftmax(4, 3)
	cfg.Observe = func(at Metrics) {
		if at.Step == 1 {
			firstStep = append(firstStep, m.Parameters()...)
		}
	}
	require.NoError(t, testkit.Err(train(t.Context(), t, m, clouds(50, 4), cfg, rng.SeedKey(1))))
	require.NotEqual(t, first.Parameters(), firstStep)
}

func TestTrainChargesFirst(t *testing.T) {
	d, m := clouds(100, 4), newSoftmax(4, 3)
	train := func(cfg Config, r *ledger.Reservation) error {
		return testkit.Err(Train(t.Context(), m, d, cfg, r, rng.SeedKey(1)))
	}
	require.ErrorIs(t, train(usual, nil), ledger.ErrNotReserved)
	require.ErrorIs(t, train(usual, &ledger.Reservation{}), ledger.ErrNotReserved)
	fewer := usual
	fewer.Steps--
	require.ErrorIs(t, train(usual, reserve(t, fewer)), ledger.ErrNotReserved)
	require.Equal(t, make([]float32, 15), m.Parameters(), "nothing was trained")
	r := reserve(t, usual)
	require.NoError(t, train(usual, r))
	require.ErrorIs(t, train(usual, r), ledger.ErrNotReserved)
	free := Config{SamplingProbability: 1, ClipNorm: 1, Steps: 1, LearningRate: 1, NonPrivate: true}
	require.ErrorContains(t, train(free, reserve(t, usual)), "no reservation")
}

func TestTrainRefusesWhatDoesNotFit(t *testing.T) {
	good, m, key := clouds(10, 4), newSoftmax(4, 3), rng.SeedKey(1)
	scored, nan := usual, float32(math.NaN())
	scored.Observe, scored.Public = func(Metrics) {}, clouds(10, 4)
	scored.Public.X.Data[0] = nan
	for want, c := range map[string]struct {
		model Model
		data  Data
		cfg   Config
		key   rng.Key
	}{
		"rows":                                   {m, Data{}, usual, key},
		"malformed":                              {m, Data{X: blas32.General{Rows: 10, Cols: 4, Stride: 3, Data: good.X.Data}, Y: good.Y}, usual, key},
		"labels":                                 {m, Data{X: good.X, Y: good.Y[1:]}, usual, key},
		"columns":                                {m, clouds(10, 5), usual, key},
		"key":                                    {m, good, usual, rng.Key{}},
		"parameter 0 of the model is not finite": {newToy(nan), good, usual, key},
		"no parameters":                          {fake{}, good, usual, key},
		"row 0 has a value that is not finite":   {m, good, scored, key},
	} {
		r := reserve(t, c.cfg)
		require.ErrorContains(t, testkit.Err(Train(t.Context(), c.model, c.data, c.cfg, r, c.key)), want)
		require.NoError(t, testkit.Err(Train(t.Context(), m, good, usual, r, key)))
	}
}

func TestGradientsThatAreNotFiniteCountAsZero(t *testing.T) {
	d := clouds(200, 4)
	for i := range 20 {
		dense.Row(d.X, 10*i)[i%4] = []float32{float32(math.NaN()), float32(math.Inf(-1))}[i%2]
	}
	cfg := usual
	cfg.SamplingProbability = 1
	_, result := trained(t, d, cfg, 1)
	require.Equal(t, int64(20*cfg.Steps), result.Diagnostics.NonFinite)
}

func TestTrainStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cfg := usual
	var last []float32
	m := newSoftmax(4, 3)
	cfg.Observe = func(at Metrics) {
		last = append(last[:0], m.Parameters()...)
		if at.Step == 3 {
			cancel()
		}
	}
	require.ErrorIs(t, testkit.Err(train(ctx, t, m, clouds(2000, 4), cfg, rng.SeedKey(1))), context.Canceled)
	require.Equal(t, last, m.Parameters(), "the iterate of the last finished step")
}

func TestParametersThatOverflowAreAnError(t *testing.T) {
	cfg := usual
	cfg.LearningRate, cfg.ClipNorm = 0x1p60, 0x1p40
	cfg.Optimizer.Momentum, cfg.Steps, cfg.SamplingProbability = 0.99, 200, 0x1p-64
	_, err := train(t.Context(), t, newSoftmax(4, 3), clouds(10, 4), cfg, rng.SeedKey(1))
	require.ErrorContains(t, err, "LearningRate")
}

func TestDiagnosticsAndDistancesAreRedacted(t *testing.T) {
	d, s := Diagnostics{Sampled: 4711, Clipped: 4711, NonFinite: 4711}, StepDistances{Values: []float64{0.4711}}
	for _, v := range []any{d, Result{Diagnostics: d}, s} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%f", "%x"} {
			require.NotContains(t, fmt.Sprintf(verb, v), "4711")
		}
		require.ErrorContains(t, testkit.Err(json.Marshal(v)), "private")
	}
	require.NotContains(t, slog.AnyValue(d).Resolve().String(), "4711")
}
