package dpsgd

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dpsgd/optim"
)

var phased = Config{
	Phases: []Phase{
		{Steps: 3, SamplingProbability: 0.1, NoiseMultiplier: 4},
		{Steps: 2, SamplingProbability: 0.5, NoiseMultiplier: 2},
		{Steps: 4, SamplingProbability: 1, NoiseMultiplier: 1},
	},
	ClipNorm: 0.5, LearningRate: 1,
}

var adaptive = Clipping{Adaptive: Adaptive{Quantile: 0.5, LearningRate: 0.2, CountNoise: 3}}

func TestPhasesAreChargedOneByOne(t *testing.T) {
	require.NoError(t, phased.Validate())
	repeated := func(n int64, q, z float64) accountant.Event {
		return accountant.Repeated{Event: gaussianStep(q, z), Count: n}
	}
	require.Equal(t, 9, phased.TotalSteps())
	require.Equal(t, accountant.Composed{Events: []accountant.Event{
		repeated(3, 0.1, 4), repeated(2, 0.5, 2), repeated(4, 1, 1),
	}}, phased.Event())
	require.Equal(t, repeated(0, 0.1, 4), phased.EventAfter(0))
	require.Equal(t, repeated(2, 0.1, 4), phased.EventAfter(2))
	require.Equal(t, repeated(3, 0.1, 4), phased.EventAfter(3))
	require.Equal(t, accountant.Composed{Events: []accountant.Event{repeated(3, 0.1, 4), repeated(1, 0.5, 2)}}, phased.EventAfter(4))
	require.Equal(t, phased.Event(), phased.EventAfter(99))
	for step, want := range []int{0, 0, 0, 1, 1, 2, 2, 2, 2} {
		got, start := phased.phaseAt(step)
		require.Equal(t, phased.Phases[want], got)
		require.Equal(t, []int{0, 3, 5}[want], start)
	}

	one := usual
	one.Clipping = adaptive
	require.Equal(t, repeated(30, 0.1, jointMultiplier(1, 3)), one.Event())
	require.Equal(t, accountant.NonPrivate{}, Config{NonPrivate: true, Steps: 3}.EventAfter(1))
	pure := Config{Steps: 3, SamplingProbability: 1, NoiseMultiplier: 2, ClipNorm: 1, LearningRate: 1, Laplace: true}
	require.NoError(t, pure.Validate())
	require.Equal(t, accountant.Repeated{Event: accountant.Laplace{NoiseMultiplier: 2}, Count: 3}, pure.Event())
}

func TestLearningRates(t *testing.T) {
	near := func(want []float64, s Schedule) {
		t.Helper()
		cfg := Config{Steps: len(want), LearningRate: 5, Schedule: s}
		require.NoError(t, s.validate(len(want)))
		for step, w := range want {
			require.InDelta(t, w, cfg.rate(step), 1e-12)
		}
	}
	near([]float64{5, 5, 5}, Schedule{})
	near([]float64{5}, Schedule{Shape: Constant})
	near([]float64{5, 4, 3, 2, 1}, Schedule{Shape: Linear, Final: 0.2})
	near([]float64{5, 2.5, 0}, Schedule{Shape: Cosine})
	near([]float64{5, 3.75, 2.5}, Schedule{Shape: Cosine, Final: 0.5})
	near([]float64{5, 5, 2.5, 2.5, 1.25}, Schedule{Shape: Stepwise, Every: 2, Factor: 0.5})
	near([]float64{1.25, 2.5, 3.75, 5, 5, 3, 1}, Schedule{Shape: Linear, Final: 0.2, Warmup: 4})
	near([]float64{2.5, 5, 5, 5}, Schedule{Warmup: 2})
	near([]float64{1}, Schedule{Shape: Linear, Final: 0.2})
}

func TestOptionsAreRefusedByField(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		field  string
		change func(*Config)
	}{
		{"Phases ", func(c *Config) { c.Phases = phased.Phases }},
		{"Phases[1].NoiseMultiplier", func(c *Config) {
			*c = phased
			c.Phases = append([]Phase(nil), phased.Phases...)
			c.Phases[1].NoiseMultiplier = nan
		}},
		{"Schedule.Shape", func(c *Config) { c.Schedule.Shape = "wavy" }},
		{"Schedule.Final", func(c *Config) { c.Schedule.Final = 0.1 }},
		{"Schedule.Final", func(c *Config) { c.Schedule = Schedule{Shape: Linear, Final: nan} }},
		{"Schedule.Every", func(c *Config) { c.Schedule.Every = 3 }},
		{"Schedule.Every", func(c *Config) { c.Schedule.Shape = Stepwise }},
		{"Schedule.Factor", func(c *Config) { c.Schedule.Factor = 0.5 }},
		{"Schedule.Factor", func(c *Config) { c.Schedule = Schedule{Shape: Stepwise, Every: 1, Factor: 1.5} }},
		{"Schedule.Warmup", func(c *Config) { c.Schedule.Warmup = -1 }},
		{"Schedule.Warmup", func(c *Config) { c.Schedule.Warmup = 31 }},
		{"Optimizer", func(c *Config) { c.Optimizer.Momentum = 1 }},
		{"Optimizer", func(c *Config) { c.Optimizer.Beta1 = 0.9 }},
		{"AverageDecay", func(c *Config) { c.AverageDecay = 1 }},
		{"AverageDecay", func(c *Config) { c.AverageDecay = nan }},
		{"Laplace", func(c *Config) { c.Laplace = true }},
		{"PublicEvery", func(c *Config) { c.PublicEvery = -1 }},
		{"Clipping.GroupNorms", func(c *Config) { c.Clipping.GroupNorms = []float64{1} }},
		{"Clipping.GroupNorms[1]", func(c *Config) { c.ClipNorm, c.Clipping.GroupNorms = 0, []float64{1, nan} }},
		{"Clipping.Stabilizer", func(c *Config) { c.Clipping.Stabilizer = -1 }},
		{"Clipping.Adaptive.Quantile", func(c *Config) { c.Clipping = adaptive; c.Clipping.Adaptive.Quantile = 0 }},
		{"Clipping.Adaptive.Quantile", func(c *Config) { c.Clipping = adaptive; c.Clipping.Adaptive.Quantile = nan }},
		{"Clipping.Adaptive.LearningRate", func(c *Config) { c.Clipping = adaptive; c.Clipping.Adaptive.LearningRate = 11 }},
		{"Clipping.Adaptive.CountNoise", func(c *Config) { c.Clipping = adaptive; c.Clipping.Adaptive.CountNoise = 0 }},
		{"Clipping.Adaptive", func(c *Config) { c.Clipping = adaptive; c.Clipping.PerGroup = true }},
		{"Clipping.Adaptive", func(c *Config) { c.Clipping = adaptive; c.Clipping.Stabilizer = 1 }},
		{"Clipping.Adaptive", func(c *Config) { c.Clipping = adaptive; c.NonPrivate, c.NoiseMultiplier = true, 0 }},
	} {
		cfg := usual
		c.change(&cfg)
		require.ErrorContains(t, cfg.Validate(), "Config."+c.field)
	}
}

func TestGroupsAreTheModels(t *testing.T) {
	m := newPair(1, 1)
	clip, err := Config{ClipNorm: 2, Clipping: Clipping{PerGroup: true, Stabilizer: 0.1}}.clip(m)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{math.Sqrt2, math.Sqrt2}, clip.Norms, 1e-15)
	require.Equal(t, 0.1, clip.Stabilizer)
	require.InDelta(t, 2, clip.Norm(), 1e-15)
	_, err = Config{Clipping: Clipping{GroupNorms: []float64{1, 1, 1}}}.clip(m)
	require.ErrorContains(t, err, "3 norms")
	_, err = Config{ClipNorm: 1, Clipping: Clipping{PerGroup: true}}.clip(toy{make([]float32, 1)})
	require.ErrorContains(t, err, "no groups")
	_, err = Config{ClipNorm: 1, Clipping: Clipping{PerGroup: true}}.clip(newPair(1, 2))
	require.ErrorContains(t, err, "hold 3")
}

// TestEveryFieldThatShapesTheResultCounts checks that every field that shapes the result is
// in the identity that noise derives from.
func TestEveryFieldThatShapesTheResultCounts(t *testing.T) {
	ignored := map[string]bool{"Workers": true, "Checkpoint": true, "CheckpointEvery": true, "Public": true, "PublicEvery": true, "Observe": true, "Distances": true}
	base := Config{}.identity()
	var visit func(v reflect.Value, path string, whole func() string)
	visit = func(v reflect.Value, path string, whole func() string) {
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Field(i).Name
			if path == "" && ignored[name] {
				continue
			}
			switch f.Kind() {
			case reflect.Struct:
				visit(f, path+name+".", whole)
				continue
			case reflect.Float64:
				f.SetFloat(0.123)
			case reflect.Int:
				f.SetInt(7)
			case reflect.Bool:
				f.SetBool(true)
			case reflect.String:
				f.SetString("x")
			case reflect.Slice:
				f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			default:
				t.Fatalf("field %s%s of kind %s", path, name, f.Kind())
			}
			require.NotEqual(t, base, whole(), path+name)
			f.SetZero()
		}
	}
	var cfg Config
	visit(reflect.ValueOf(&cfg).Elem(), "", func() string { return cfg.identity() })
	cfg.Workers, cfg.Checkpoint, cfg.Observe = 3, "x", func(Metrics) {}
	cfg.Distances = Distances{Observe: func(StepDistances) {}, Between: Records, Most: 3}
	require.Equal(t, base, cfg.identity())
	require.Equal(t, `dpsgd 6 {"sampling_probability":0.1,"noise_multiplier":1,"steps":30,"clip_norm":0.5,`+
		`"learning_rate":1,"optimizer":{"momentum":0.5}}`, usual.identity(), "another text is another run")
	require.NotEqual(t, Config{NonPrivate: true}.identity(), Config{NonPrivate: true, ClipNorm: 1}.identity())
	near := Config{ClipNorm: 0.1}
	further := Config{ClipNorm: math.Nextafter(0.1, 1)}
	require.NotEqual(t, near.identity(), further.identity(), "the last bit of a number")
}

// everyKind returns a configuration for each kind of state that a run can have.
func everyKind() map[string]Config {
	with := func(change func(*Config)) Config {
		cfg := usual
		cfg.Optimizer = optim.Config{}
		change(&cfg)
		return cfg
	}
	clipped := usual
	clipped.NonPrivate, clipped.NoiseMultiplier = true, 0
	return map[string]Config{
		"sgd":       with(func(*Config) {}),
		"momentum":  usual,
		"nesterov":  with(func(c *Config) { c.Optimizer = optim.Config{Momentum: 0.9, Nesterov: true, WeightDecay: 0.01} }),
		"adagrad":   with(func(c *Config) { c.Optimizer.Method = optim.AdaGrad }),
		"adam":      with(func(c *Config) { c.Optimizer.Method = optim.Adam; c.LearningRate = 0.1 }),
		"adamw":     with(func(c *Config) { c.Optimizer = optim.Config{Method: optim.AdamW, WeightDecay: 0.1} }),
		"average":   with(func(c *Config) { c.AverageDecay = 0.9 }),
		"adaptive":  with(func(c *Config) { c.Clipping = adaptive }),
		"automatic": with(func(c *Config) { c.Clipping.Stabilizer = 0.01 }),
		"phases":    phased,
		"schedule":  with(func(c *Config) { c.Schedule = Schedule{Shape: Cosine, Warmup: 3} }),
		"clip only": clipped,
		"full":      with(func(c *Config) { c.SamplingProbability = 1 }),
		"everything": with(func(c *Config) {
			c.Clipping, c.AverageDecay, c.Optimizer = adaptive, 0.5, optim.Config{Method: optim.AdamW, WeightDecay: 0.1}
			c.Schedule = Schedule{Shape: Linear, Final: 0.1}
		}),
	}
}
