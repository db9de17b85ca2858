package dpsgd

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/rng"
)

func reserve(t testing.TB, cfg Config) *ledger.Reservation { return reserveEvent(t, cfg.Event()) }

// clouds returns records of three classes around three centres.
func clouds(n, cols int) Data {
	rnd := rand.New(rand.NewPCG(7, 1))
	d := Data{X: blas32.General{Rows: n, Cols: cols, Stride: cols, Data: make([]float32, n*cols)}, Y: make([]int, n)}
	for i := range n {
		d.Y[i] = rnd.IntN(3)
		x := dense.Row(d.X, i)
		for j := range x {
			x[j] = float32(0.5 * rnd.NormFloat64())
		}
		x[d.Y[i]] += 2
	}
	return d
}

func accuracy(t *testing.T, m *Softmax, d Data) float64 {
	got := make([]int, len(d.Y))
	require.NoError(t, m.Predict(got, d.X))
	right := 0.0
	for i, y := range d.Y {
		if got[i] == y {
			right++
		}
	}
	return right / float64(len(d.Y))
}

var usual = Config{SamplingProbability: 0.1, NoiseMultiplier: 1, ClipNorm: 0.5, Steps: 30, LearningRate: 1, Optimizer: optim.Config{Momentum: 0.5}}

// weighted multiplies what a model adds by a setting that is not among its parameters.
type weighted struct {
	toy
	weight float32
	tell   bool
}

func (m weighted) Worker() Worker { return weightedWorker{m} }
func (m weighted) Fingerprint() []byte {
	if m.tell {
		return fmt.Appendf(nil, "%v", m.weight)
	}
	return nil
}

type weightedWorker struct{ m weighted }

func (weightedWorker) Start() {}
func (w weightedWorker) AddClipped(sum []float32, data Data, rows []int, clip Clip) Tally {
	before := sum[0]
	tally := toyWorker{}.AddClipped(sum, data, rows, clip)
	sum[0] = before + w.m.weight*(sum[0]-before)
	return tally
}

// TestModelsOfOtherSettingsMeetOtherNoise checks that two models that differ in a setting
// meet different noise, whether their fingerprints say so or not. So the difference of two
// releases is never the bare gradient.
func TestModelsOfOtherSettingsMeetOtherNoise(t *testing.T) {
	data := column(0.25, 0.25, 0.25, 0.25)
	cfg := Config{SamplingProbability: 1, NoiseMultiplier: 50, ClipNorm: 1, Steps: 1, LearningRate: 1}
	bare := func(tell bool) float64 {
		var out [2]float64
		for i, weight := range []float32{1, 0.5} {
			m := weighted{toy{make([]float32, 1)}, weight, tell}
			_, err := Train(context.Background(), m, data, cfg, reserve(t, cfg), rng.SeedKey(3))
			require.NoError(t, err)
			out[i] = float64(m.parameter[0])
		}
		return 2 * (out[1] - out[0])
	}
	require.Greater(t, math.Abs(bare(false)-0.25), 0.1)
	require.Greater(t, math.Abs(bare(true)-0.25), 0.1)
}

// constant returns records that all have the same value.
func constant(records int, value float32) Data {
	return column(slices.Repeat([]float32{value}, records)...)
}

// TestStepsDivideByTheExpectedSize checks that the sum of a batch is divided by the size that is
// expected, with privacy and without: how large the batch was stays visible in the step where
// nothing hides it, and plays no other part.
func TestStepsDivideByTheExpectedSize(t *testing.T) {
	const records, value = 400, 0.25
	for _, cfg := range []Config{
		{SamplingProbability: 0.5, NoiseMultiplier: 0.01, ClipNorm: 1, Steps: 1, LearningRate: 1},
		{SamplingProbability: 0.5, ClipNorm: 1, Steps: 1, LearningRate: 1, NonPrivate: true},
	} {
		m := toy{make([]float32, 1)}
		var r *ledger.Reservation
		if !cfg.NonPrivate {
			r = reserve(t, cfg)
		}
		result, err := Train(context.Background(), m, constant(records, value), cfg, r, rng.SeedKey(2))
		require.NoError(t, err)
		sampled := float64(result.Diagnostics.Sampled)
		require.Greater(t, math.Abs(sampled-records/2), 3.0, "a batch of about the expected size shows nothing")
		require.InDelta(t, -value*sampled/(records/2), m.parameter[0], 1e-3)
	}
}

// TestOtherSettingsDrawOtherSamples checks that runs under one key that differ in a setting, even
// one that no sum depends on, look at other records: their charges are composed as those of
// independent samples.
func TestOtherSettingsDrawOtherSamples(t *testing.T) {
	sampled := func(rate float64) int64 {
		cfg := Config{SamplingProbability: 0.5, NoiseMultiplier: 5, ClipNorm: 1, Steps: 3, LearningRate: rate}
		result, err := Train(context.Background(), toy{make([]float32, 1)}, constant(10000, 0), cfg, reserve(t, cfg), rng.SeedKey(4))
		require.NoError(t, err)
		return int64(result.Diagnostics.Sampled)
	}
	require.Equal(t, sampled(1), sampled(1))
	require.NotEqual(t, sampled(1), sampled(2))
}

func trained(t *testing.T, d Data, cfg Config, key rng.Key) (*Softmax, Result) {
	m, err := NewSoftmax(d.X.Cols, 3)
	require.NoError(t, err)
	var r *ledger.Reservation
	if !cfg.NonPrivate {
		r = reserve(t, cfg)
	}
	result, err := Train(context.Background(), m, d, cfg, r, key)
	require.NoError(t, err)
	return m, result
}

func TestTrainingLearns(t *testing.T) {
	d := clouds(3000, 6)
	m, result := trained(t, d, usual, rng.SeedKey(1))
	require.Greater(t, accuracy(t, m, d), 0.95)
	require.Equal(t, 30, result.Steps)
	require.Equal(t, usual.Event(), result.Event)
	require.InDelta(t, 0.1*3000*30, float64(result.Diagnostics.Sampled), 500)
	require.Positive(t, result.Diagnostics.Clipped)
	require.Zero(t, result.Diagnostics.NonFinite)

	baseline := Config{SamplingProbability: 0.1, ClipNorm: math.Inf(1), Steps: 30, LearningRate: 1, NonPrivate: true}
	m, result = trained(t, d, baseline, rng.SeedKey(1))
	require.Greater(t, accuracy(t, m, d), 0.97)
	require.Equal(t, accountant.NonPrivate{}, result.Event)
	require.Zero(t, result.Diagnostics.Clipped)
}

// TestWorkersDoNotMatter checks that parameters are the same bit for bit. The control shows
// that another seed changes them.
func TestWorkersDoNotMatter(t *testing.T) {
	d := clouds(3000, 37)
	for _, cfg := range []Config{usual, {SamplingProbability: 0.5, ClipNorm: 1, Steps: 5, LearningRate: 1, NonPrivate: true}} {
		cfg.Workers = 1
		want, _ := trained(t, d, cfg, rng.SeedKey(1))
		for _, workers := range []int{2, 3, 7, 40, 0} {
			cfg.Workers = workers
			got, _ := trained(t, d, cfg, rng.SeedKey(1))
			require.Equal(t, want.Parameters(), got.Parameters(), "%d workers", workers)
		}
		other, _ := trained(t, d, cfg, rng.SeedKey(2))
		require.NotEqual(t, want.Parameters(), other.Parameters())
	}
}

func TestOnlyACryptographicKeyIsReleasable(t *testing.T) {
	d := clouds(100, 4)
	_, seeded := trained(t, d, usual, rng.SeedKey(1))
	require.False(t, seeded.Releasable)
	key, err := rng.NewKey()
	require.NoError(t, err)
	_, secret := trained(t, d, usual, key)
	require.True(t, secret.Releasable)
	_, bare := trained(t, d, Config{SamplingProbability: 1, ClipNorm: 1, Steps: 1, LearningRate: 1, NonPrivate: true}, key)
	require.False(t, bare.Releasable)
}

// TestNoiseIsNeverMetTwice checks that runs under one key have unrelated noise if they
// differ in data, in configuration or in where they start. Batches are empty, so equal
// noise would give equal models.
func TestNoiseIsNeverMetTwice(t *testing.T) {
	cfg := Config{SamplingProbability: 0x1p-60, NoiseMultiplier: 1, ClipNorm: 1, Steps: 1, LearningRate: 1e-10}
	d := clouds(50, 4)
	first, _ := trained(t, d, cfg, rng.SeedKey(1))
	again, _ := trained(t, d, cfg, rng.SeedKey(1))
	require.Equal(t, first.Parameters(), again.Parameters())

	d.X.Data[17] = math.Nextafter32(d.X.Data[17], 9)
	changed, _ := trained(t, d, cfg, rng.SeedKey(1))
	require.NotEqual(t, first.Parameters(), changed.Parameters())
	d = clouds(50, 4)
	d.Y[3] = (d.Y[3] + 1) % 3
	relabelled, _ := trained(t, d, cfg, rng.SeedKey(1))
	require.NotEqual(t, first.Parameters(), relabelled.Parameters())
	longer := cfg
	longer.Steps = 2
	var firstStep []float32
	m, err := NewSoftmax(4, 3)
	require.NoError(t, err)
	longer.Observe = func(at Metrics) {
		if at.Step == 1 {
			firstStep = append(firstStep, m.Parameters()...)
		}
	}
	_, err = Train(context.Background(), m, clouds(50, 4), longer, reserve(t, longer), rng.SeedKey(1))
	require.NoError(t, err)
	require.NotEqual(t, first.Parameters(), firstStep)
}

func TestTrainChargesFirst(t *testing.T) {
	d := clouds(100, 4)
	m, err := NewSoftmax(4, 3)
	require.NoError(t, err)
	train := func(cfg Config, r *ledger.Reservation) error {
		_, err := Train(context.Background(), m, d, cfg, r, rng.SeedKey(1))
		return err
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

func TestConfigIsRefusedByField(t *testing.T) {
	require.ErrorContains(t, Config{}.Validate(), "Config.SamplingProbability")
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		field  string
		change func(*Config)
	}{
		{"SamplingProbability", func(c *Config) { c.SamplingProbability = 1.1 }},
		{"SamplingProbability", func(c *Config) { c.SamplingProbability = nan }},
		{"NoiseMultiplier", func(c *Config) { c.NoiseMultiplier = 0 }},
		{"NoiseMultiplier", func(c *Config) { c.NoiseMultiplier = inf }},
		{"NoiseMultiplier", func(c *Config) { c.NonPrivate = true }},
		{"ClipNorm", func(c *Config) { c.ClipNorm = 0 }},
		{"ClipNorm", func(c *Config) { c.ClipNorm = inf }},
		{"ClipNorm", func(c *Config) { c.ClipNorm = nan }},
		{"Steps", func(c *Config) { c.Steps = 0 }},
		{"LearningRate", func(c *Config) { c.LearningRate = 0 }},
		{"LearningRate", func(c *Config) { c.LearningRate = nan }},
		{"Workers", func(c *Config) { c.Workers = -1 }},
	} {
		cfg := usual
		require.NoError(t, cfg.Validate())
		c.change(&cfg)
		require.ErrorContains(t, cfg.Validate(), "Config."+c.field+" ")
	}
}

func TestTrainRefusesWhatDoesNotFit(t *testing.T) {
	good := clouds(10, 4)
	m, err := NewSoftmax(4, 3)
	require.NoError(t, err)
	for name, d := range map[string]Data{
		"rows":      {},
		"malformed": {X: blas32.General{Rows: 10, Cols: 4, Stride: 3, Data: good.X.Data}, Y: good.Y},
		"labels":    {X: good.X, Y: good.Y[1:]},
		"columns":   clouds(10, 5),
	} {
		r := reserve(t, usual)
		_, err := Train(context.Background(), m, d, usual, r, rng.SeedKey(1))
		require.ErrorContains(t, err, name)
		_, err = Train(context.Background(), m, good, usual, r, rng.SeedKey(1))
		require.NoError(t, err, "a refused run uses no reservation")
	}
	_, err = Train(context.Background(), m, good, usual, reserve(t, usual), rng.Key{})
	require.ErrorContains(t, err, "key")
}

func TestGradientsThatAreNotFiniteCountAsZero(t *testing.T) {
	d := clouds(200, 4)
	for i := range 20 {
		dense.Row(d.X, 10*i)[i%4] = []float32{float32(math.NaN()), float32(math.Inf(-1))}[i%2]
	}
	cfg := usual
	cfg.SamplingProbability = 1
	_, result := trained(t, d, cfg, rng.SeedKey(1))
	require.Equal(t, int64(20*cfg.Steps), result.Diagnostics.NonFinite)
}

func TestTrainStops(t *testing.T) {
	d := clouds(2000, 4)
	ctx, cancel := context.WithCancel(context.Background())
	cfg := usual
	var last []float32
	m, err := NewSoftmax(4, 3)
	require.NoError(t, err)
	cfg.Observe = func(at Metrics) {
		require.Equal(t, usual.Steps, at.Steps)
		last = append(last[:0], m.Parameters()...)
		if at.Step == 3 {
			cancel()
		}
	}
	_, err = Train(ctx, m, d, cfg, reserve(t, cfg), rng.SeedKey(1))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, last, m.Parameters(), "the iterate of the last finished step")
}

func TestParametersThatOverflowAreAnError(t *testing.T) {
	m, err := NewSoftmax(4, 3)
	require.NoError(t, err)
	cfg := usual
	cfg.LearningRate, cfg.ClipNorm = 0x1p60, 0x1p40
	cfg.Optimizer.Momentum, cfg.Steps, cfg.SamplingProbability = 0.99, 200, 0x1p-64
	_, err = Train(context.Background(), m, clouds(10, 4), cfg, reserve(t, cfg), rng.SeedKey(1))
	require.ErrorContains(t, err, "LearningRate")
}

func TestDiagnosticsAreRedacted(t *testing.T) {
	d := Diagnostics{Sampled: 4711, Clipped: 4711, NonFinite: 4711}
	for _, s := range []string{fmt.Sprint(d), fmt.Sprintf("%+v", Result{Diagnostics: d}), fmt.Sprintf("%#v", d), slog.AnyValue(d).Resolve().String()} {
		require.NotContains(t, s, "4711")
	}
	_, err := json.Marshal(Result{Diagnostics: d})
	require.ErrorContains(t, err, "private")
}
