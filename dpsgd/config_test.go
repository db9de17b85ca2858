package dpsgd

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

var phased = Config{
	Phases: []Phase{
		{Steps: 3, SamplingProbability: 0.1, NoiseMultiplier: 4},
		{Steps: 2, SamplingProbability: 0.5, NoiseMultiplier: 2},
		{Steps: 4, SamplingProbability: 1, NoiseMultiplier: 1},
	},
	ClipNorm: 0.5, LearningRate: 1,
}

func TestPhasesAreChargedOneByOne(t *testing.T) {
	require.NoError(t, phased.Validate())
	repeated := func(n int64, q, z float64) accountant.Event {
		return accountant.Repeated{Event: gaussianStep(q, z), Count: n}
	}
	all := accountant.Composed{Events: []accountant.Event{repeated(3, 0.1, 4), repeated(2, 0.5, 2), repeated(4, 1, 1)}}
	require.Equal(t, 9, phased.TotalSteps())
	require.Equal(t, all, phased.Event())
	for steps, want := range map[int]accountant.Event{
		0: repeated(0, 0.1, 4), 2: repeated(2, 0.1, 4), 3: repeated(3, 0.1, 4), 99: all,
		4: accountant.Composed{Events: []accountant.Event{repeated(3, 0.1, 4), repeated(1, 0.5, 2)}},
	} {
		require.Equal(t, want, phased.EventAfter(steps))
	}
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
	for _, c := range []struct {
		schedule Schedule
		want     []float64
	}{
		{Schedule{}, []float64{5, 5, 5}},
		{Schedule{Shape: Constant}, []float64{5}},
		{Schedule{Shape: Linear, Final: 0.2}, []float64{5, 4, 3, 2, 1}},
		{Schedule{Shape: Cosine}, []float64{5, 2.5, 0}},
		{Schedule{Shape: Cosine, Final: 0.5}, []float64{5, 3.75, 2.5}},
		{Schedule{Shape: Stepwise, Every: 2, Factor: 0.5}, []float64{5, 5, 2.5, 2.5, 1.25}},
		{Schedule{Shape: Linear, Final: 0.2, Warmup: 4}, []float64{1.25, 2.5, 3.75, 5, 5, 3, 1}},
		{Schedule{Warmup: 2}, []float64{2.5, 5, 5, 5}},
		{Schedule{Shape: Linear, Final: 0.2}, []float64{1}},
	} {
		cfg := Config{Steps: len(c.want), LearningRate: 5, Schedule: c.schedule}
		require.NoError(t, c.schedule.validate(len(c.want)))
		for step, w := range c.want {
			require.InDelta(t, w, cfg.rate(step), 1e-12)
		}
	}
}

func TestConfigIsRefusedByField(t *testing.T) {
	require.ErrorContains(t, Config{}.Validate(), "Config.SamplingProbability")
	require.NoError(t, usual.Validate())
	nan, inf := math.NaN(), math.Inf(1)
	by := func(s Sampling) func(*Config) {
		return func(c *Config) {
			if c.Sampling = s; s.EpochSteps != 0 {
				c.SamplingProbability = 0
			}
		}
	}
	phases := func(s Sampling, phases ...Phase) func(*Config) {
		return func(c *Config) { *c = Config{ClipNorm: 1, LearningRate: 1, Sampling: s, Phases: phases} }
	}
	adapt := func(change func(*Config)) func(*Config) {
		return func(c *Config) { c.Clipping = adaptive; change(c) }
	}
	see := Distances{Observe: func(StepDistances) {}}
	for _, c := range []struct {
		want   string
		change func(*Config)
	}{
		{"Config.SamplingProbability ", func(c *Config) { c.SamplingProbability = 1.1 }},
		{"Config.SamplingProbability ", func(c *Config) { c.SamplingProbability = nan }},
		{"Config.NoiseMultiplier ", func(c *Config) { c.NoiseMultiplier = 0 }},
		{"Config.NoiseMultiplier ", func(c *Config) { c.NoiseMultiplier = inf }},
		{"Config.NoiseMultiplier ", func(c *Config) { c.NonPrivate = true }},
		{"Config.ClipNorm ", func(c *Config) { c.ClipNorm = 0 }},
		{"Config.ClipNorm ", func(c *Config) { c.ClipNorm = inf }},
		{"Config.ClipNorm ", func(c *Config) { c.ClipNorm = nan }},
		{"Config.Steps ", func(c *Config) { c.Steps = 0 }},
		{"Config.LearningRate ", func(c *Config) { c.LearningRate = 0 }},
		{"Config.LearningRate ", func(c *Config) { c.LearningRate = nan }},
		{"Config.Workers ", func(c *Config) { c.Workers = -1 }},
		{"Config.CheckpointEvery", func(c *Config) { c.CheckpointEvery = -1 }},
		{"Config.PublicEvery", func(c *Config) { c.PublicEvery = -1 }},
		{"Config.AverageDecay", func(c *Config) { c.AverageDecay = 1 }},
		{"Config.AverageDecay", func(c *Config) { c.AverageDecay = nan }},
		{"Config.Laplace", func(c *Config) { c.Laplace = true }},
		{"Config.Optimizer", func(c *Config) { c.Optimizer.Momentum = 1 }},
		{"Config.Optimizer", func(c *Config) { c.Optimizer.Beta1 = 0.9 }},
		{"Config.Phases ", func(c *Config) { c.Phases = phased.Phases }},
		{"Config.Phases[1].NoiseMultiplier", phases(Sampling{}, Phase{3, 0.1, 4}, Phase{2, 0.5, nan})},
		{"Config.Schedule.Shape", func(c *Config) { c.Schedule.Shape = "wavy" }},
		{"Config.Schedule.Final", func(c *Config) { c.Schedule.Final = 0.1 }},
		{"Config.Schedule.Final", func(c *Config) { c.Schedule = Schedule{Shape: Linear, Final: nan} }},
		{"Config.Schedule.Every", func(c *Config) { c.Schedule.Every = 3 }},
		{"Config.Schedule.Every", func(c *Config) { c.Schedule.Shape = Stepwise }},
		{"Config.Schedule.Factor", func(c *Config) { c.Schedule.Factor = 0.5 }},
		{"Config.Schedule.Factor", func(c *Config) { c.Schedule = Schedule{Shape: Stepwise, Every: 1, Factor: 1.5} }},
		{"Config.Schedule.Warmup", func(c *Config) { c.Schedule.Warmup = -1 }},
		{"Config.Schedule.Warmup", func(c *Config) { c.Schedule.Warmup = 31 }},

		{"Config.Clipping.GroupNorms", func(c *Config) { c.Clipping.GroupNorms = []float64{1} }},
		{"Config.Clipping.GroupNorms[1]", func(c *Config) { c.ClipNorm, c.Clipping.GroupNorms = 0, []float64{1, nan} }},
		{"Config.Clipping.Stabilizer", func(c *Config) { c.Clipping.Stabilizer = -1 }},
		{"Config.Clipping.Adaptive.Quantile", adapt(func(c *Config) { c.Clipping.Adaptive.Quantile = 0 })},
		{"Config.Clipping.Adaptive.Quantile", adapt(func(c *Config) { c.Clipping.Adaptive.Quantile = nan })},
		{"Config.Clipping.Adaptive.LearningRate", adapt(func(c *Config) { c.Clipping.Adaptive.LearningRate = 11 })},
		{"Config.Clipping.Adaptive.CountNoise", adapt(func(c *Config) { c.Clipping.Adaptive.CountNoise = 0 })},
		{"Config.Clipping.Adaptive", adapt(func(c *Config) { c.Clipping.PerGroup = true })},
		{"Config.Clipping.Adaptive", adapt(func(c *Config) { c.Clipping.Stabilizer = 1 })},
		{"Config.Clipping.Adaptive", adapt(func(c *Config) { c.NonPrivate, c.NoiseMultiplier = true, 0 })},

		{`"coin" is unknown`, by(Sampling{Scheme: "coin"})},
		{"Sampling.EpochSteps is 0", by(Sampling{Scheme: Allocation})},
		{"Sampling.EpochSteps is -1", by(allocate(-1, 0))},
		{"Sampling.PerEpoch is 5", by(allocate(4, 5))},
		{"Sampling.PerEpoch is -1", by(allocate(4, -1))},
		{`PerEpoch is for "al`, by(Sampling{Scheme: BallsInBins, EpochSteps: 4, PerEpoch: 2})},
		{"are for", by(Sampling{EpochSteps: 4})},
		{"Config.SamplingProbability", func(c *Config) { c.Sampling = bins(6) }},
		{"Laplace", func(c *Config) { by(bins(6))(c); c.Laplace = true }},
		{"Distances", func(c *Config) { by(bins(6))(c); c.Distances = see }},
		{"Config.Steps is 30, not a whole number of epochs of 8 steps: 24 or 32", by(bins(8))},
		{"Config.Phases[0].Steps is 6", phases(allocate(4, 1), Phase{6, 0, 1}, Phase{4, 0, 2})},
		{"one phase", phases(bins(4), Phase{8, 0, 1}, Phase{4, 0, 2})},
		{"Sampling.Bands is 0", by(cycle(0))},
		{"Sampling.Bands is 31", by(cycle(31))},
		{"must be at most 1", by(cycle(11))},
		{"are for", by(Sampling{Scheme: Cyclic, Bands: 4, EpochSteps: 5})},
		{`Bands is for "cy`, by(Sampling{Bands: 4})},
		{"one clip norm", adapt(by(cycle(4)))},
		{"Laplace", func(c *Config) { by(cycle(4))(c); c.Laplace = true }},
		{"Distances", func(c *Config) { by(cycle(4))(c); c.Distances = see }},
		{"one phase", phases(cycle(4), Phase{5, 0.2, 1}, Phase{5, 0.2, 2})},
		{"SamplingProbability", func(c *Config) { by(cycle(4))(c); c.SamplingProbability = 0 }},

		{"Distances", adapt(func(c *Config) { c.Distances = see })},
		{"Distances", func(c *Config) { c.Distances = see; c.NonPrivate, c.NoiseMultiplier = true, 0 }},
		{"Distances", func(c *Config) { c.Distances = see; c.Distances.Between = 7 }},
		{"Distances", func(c *Config) { c.Distances = see; c.Distances.Most = -1 }},
	} {
		cfg := usual
		c.change(&cfg)
		require.ErrorContains(t, cfg.Validate(), c.want)
	}
}

func TestGroupsAreTheModels(t *testing.T) {
	m := newPair(1, 1)
	clip := testkit.Must(Config{ClipNorm: 2, Clipping: Clipping{PerGroup: true, Stabilizer: 0.1}}.clip(m))
	require.InDeltaSlice(t, []float64{math.Sqrt2, math.Sqrt2}, clip.Norms, 1e-15)
	require.Equal(t, 0.1, clip.Stabilizer)
	require.InDelta(t, 2, clip.Norm(), 1e-15)
	require.ErrorContains(t, testkit.Err(Config{Clipping: Clipping{GroupNorms: []float64{1, 1, 1}}}.clip(m)), "3 norms")
	require.ErrorContains(t, testkit.Err(Config{ClipNorm: 1, Clipping: Clipping{PerGroup: true}}.clip(newToy())), "no groups")
	require.ErrorContains(t, testkit.Err(Config{ClipNorm: 1, Clipping: Clipping{PerGroup: true}}.clip(newPair(1, 2))), "hold 3")
}

func TestScaleOfAutomaticClippingStaysWithinFloat32(t *testing.T) {
	clip := Clip{Norms: []float64{0x1p40}, Stabilizer: 0x1p-40}
	scale, _ := clip.Scale(0, 0)
	require.Equal(t, 0x1p60, scale)
	scale, _ = clip.Scale(0, 0x1p50)
	require.InEpsilon(t, 0x1p-10, scale, 1e-12)
}

// TestEveryFieldThatShapesTheResultCounts checks that every field that shapes the result is in the
// identity that noise derives from.
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
	near, further := Config{ClipNorm: 0.1}, Config{ClipNorm: math.Nextafter(0.1, 1)}
	require.NotEqual(t, near.identity(), further.identity(), "the last bit of a number")
}
