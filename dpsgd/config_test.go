package dpsgd

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
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

// TestWorkersDoNotMatterToAnyKind checks that parameters, averages, clip norms and counts are the same
// bit for bit. The control shows that another seed changes them.
func TestWorkersDoNotMatterToAnyKind(t *testing.T) {
	check := func(name string, d Data, cfg Config, workers ...int) {
		cfg.Workers = 1
		m, want := trained(t, d, cfg, 1)
		for _, cfg.Workers = range workers {
			other, got := trained(t, d, cfg, 1)
			require.Equal(t, m.Parameters(), other.Parameters(), "%s, %d workers", name, cfg.Workers)
			require.Equal(t, want, got, name)
		}
		other, _ := trained(t, d, cfg, 2)
		require.NotEqual(t, m.Parameters(), other.Parameters())
	}
	d := clouds(700, 9)
	for name, cfg := range everyKind() {
		check(name, d, cfg, 2, 5)
	}
	check("usual", clouds(3000, 37), usual, 3, 7, 40, 0)
	check("bare", clouds(3000, 37), Config{SamplingProbability: 0.5, ClipNorm: 1, Steps: 5, LearningRate: 1, NonPrivate: true}, 3, 7, 40, 0)
}

func TestNonPrivateIsPlainDescent(t *testing.T) {
	d := clouds(200, 4)
	for _, clip := range []float64{math.Inf(1), 0.3} {
		cfg := Config{SamplingProbability: 1, ClipNorm: clip, Steps: 12, LearningRate: 0.7, NonPrivate: true,
			Optimizer: optim.Config{Momentum: 0.8}}
		m, _ := trained(t, d, cfg, 1)
		plain, p, velocity := newSoftmax(4, 3), make([]float64, 15), make([]float64, 15)
		for range cfg.Steps {
			mean := make([]float64, 15)
			for i := range d.Y {
				g := gradientOf(plain, d, i)
				scale := math.Min(1, clip/normOf(g))
				for j, v := range g {
					mean[j] += scale * float64(v) / 200
				}
			}
			for j := range p {
				velocity[j] = 0.8*velocity[j] + mean[j]
				p[j] -= 0.7 * velocity[j]
				plain.parameters[j] = float32(p[j])
			}
		}
		for j, v := range m.Parameters() {
			require.InDelta(t, p[j], v, 2e-5)
		}
	}
}

// TestAdaptiveClippingFindsTheQuantile trains with a learning rate of nearly zero, so that gradients
// stay what they are. C must settle at the quantile of their norms.
func TestAdaptiveClippingFindsTheQuantile(t *testing.T) {
	var values []float32
	for i := range 1001 {
		values = append(values, float32(i)/100)
	}
	cfg := Config{SamplingProbability: 0.5, NoiseMultiplier: 1, Steps: 400, ClipNorm: 0.01, LearningRate: 1e-9,
		Clipping: Clipping{Adaptive: Adaptive{Quantile: 0.3, LearningRate: 0.2, CountNoise: 5}}}
	var last, norms float64
	cfg.Observe = func(m Metrics) {
		require.False(t, math.IsNaN(m.Unclipped))
		last = m.ClipNorm
		if m.Step > 300 {
			norms += m.ClipNorm / 100
		}
	}
	result := testkit.Must(train(t.Context(), t, newToy(), column(values...), cfg, rng.SeedKey(1)))
	require.InDelta(t, 3, norms, 0.15)
	require.InDelta(t, last, result.ClipNorm, 0.1*last)
	require.NotEqual(t, last, result.ClipNorm)
}

// TestDiscreteLaplaceIsCovered compares hockey-stick divergences of the discrete pair with those of the
// continuous pair that the event stands for. The grid is so coarse that the difference shows: without
// the two units of laplaceScale the discrete pair is not covered.
func TestDiscreteLaplaceIsCovered(t *testing.T) {
	discrete := func(d int, b, epsilon float64) (h float64) {
		reach := d + int(45*b) // the rest is below e^-45
		for k := -reach; k <= reach; k++ {
			p := math.Tanh(1/(2*b)) * math.Exp(-math.Abs(float64(k))/b)
			q := math.Tanh(1/(2*b)) * math.Exp(-math.Abs(float64(k-d))/b)
			h += math.Max(0, p-math.Exp(epsilon)*q)
		}
		return h
	}
	continuous := func(multiplier, epsilon float64) float64 {
		switch {
		case epsilon >= 1/multiplier:
			return 0
		case epsilon <= -1/multiplier:
			return 1 - math.Exp(epsilon)
		}
		return -math.Expm1((epsilon - 1/multiplier) / 2)
	}
	bare := 0.0
	for _, multiplier := range []float64{0.3, 1, 4} {
		for _, d := range []int{1, 2, 5, 8} {
			b := laplaceScale(multiplier, grid{sensitivity: float64(d)})
			require.InDelta(t, multiplier*float64(d+2), b, 1)
			for epsilon := -1.2 / multiplier; epsilon < 1.2/multiplier; epsilon += 0.0237 / multiplier {
				require.LessOrEqual(t, discrete(d, b, epsilon), continuous(multiplier, epsilon)+1e-12)
				bare = math.Max(bare, discrete(d, multiplier*float64(d), epsilon)-continuous(multiplier, epsilon))
			}
		}
	}
	require.Greater(t, bare, 1e-4, "without them")
}

func TestAverage(t *testing.T) {
	cfg := usual
	cfg.AverageDecay = 0.8
	average, m := make([]float64, 15), newSoftmax(4, 3)
	cfg.Observe = func(Metrics) { optim.Average(average, m.Parameters(), 0.8) }
	result := testkit.Must(train(t.Context(), t, m, clouds(200, 4), cfg, rng.SeedKey(1)))
	require.Len(t, result.Average, 15)
	for j, v := range average {
		require.Equal(t, float32(v), result.Average[j])
	}
	require.NotEqual(t, m.Parameters(), result.Average)
}

func TestMetrics(t *testing.T) {
	private, public := clouds(600, 4), clouds(500, 4)
	cfg := usual
	cfg.Public, cfg.PublicEvery = public, 7
	cfg.Schedule = Schedule{Shape: Linear, Final: 0.5}
	m := newSoftmax(4, 3)
	var counts Diagnostics
	var scored []int
	cfg.Observe = func(at Metrics) {
		require.Equal(t, 30, at.Steps)
		require.Equal(t, cfg.rate(at.Step-1), at.LearningRate)
		require.Equal(t, 0.5, at.ClipNorm)
		require.True(t, math.IsNaN(at.Unclipped))
		require.Equal(t, cfg.EventAfter(at.Step), at.Event)
		counts.add(at.Private)
		require.LessOrEqual(t, at.Private.ClipFraction(), 1.0)
		require.Less(t, at.Private.MeanLoss(), 3.0)
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", at, at, at), "NonFinite")
		if at.Public == nil {
			return
		}
		scored = append(scored, at.Step)
		require.Equal(t, accuracy(t, m, public), at.Public.Accuracy)
		require.Error(t, testkit.Err(json.Marshal(at)), "private metrics have no JSON form")
	}
	result := testkit.Must(train(t.Context(), t, m, private, cfg, rng.SeedKey(1)))
	require.Equal(t, []int{7, 14, 21, 28, 30}, scored)
	require.Equal(t, result.Diagnostics, counts)

	// The loss of a model of zeros is log 3.
	s := testkit.Must(testkit.Must(newObserver(newSoftmax(4, 3), cfg)).score(t.Context()))
	require.InDelta(t, math.Log(3), s.Loss, 1e-6)

	cfg.Public = clouds(10, 5)
	r := reserve(t, cfg)
	require.ErrorContains(t, testkit.Err(Train(t.Context(), m, private, cfg, r, rng.SeedKey(1))), "Public")
	require.NoError(t, r.Begin(cfg.Event(), ledger.Use{Relation: accountant.AddRemove}), "nothing was charged for it")
}

func TestMemoryDoesNotGrowWithTheBatch(t *testing.T) {
	const cols, records = 2000, 8192
	data := Data{X: blas32.General{Rows: records, Cols: cols, Stride: 0, Data: make([]float32, cols)}, Y: make([]int, records)}
	allocated := func(q float64) float64 {
		tr := trainerOf(t, newSoftmax(cols, 2), data, Config{SamplingProbability: q, NoiseMultiplier: 1, ClipNorm: 1, Steps: 1, LearningRate: 1, Workers: 1}, 1)
		return float64(testkit.Allocated(func() { stepOf(t, tr) }))
	}
	small, large := allocated(1.0/32), allocated(0.5)
	require.Less(t, large-small, 200.0*records/2, "a gradient takes %d", 4*2*cols)
}
