package optim

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

type weights struct {
	W1 [][]float64 `json:"W1"`
	B1 []float64   `json:"b1"`
	W2 [][]float64 `json:"W2"`
	B2 []float64   `json:"b2"`
}

func (w weights) flat() (f []float64) {
	for _, r := range w.W1 {
		f = append(f, r...)
	}
	f = append(f, w.B1...)
	for _, r := range w.W2 {
		f = append(f, r...)
	}
	return append(f, w.B2...)
}

type trajectory struct {
	Start weights `json:"params0"`
	Runs  map[string][]struct {
		Gradient weights `json:"noisy_mean_grad"`
		Params   weights `json:"params"`
		EMA      weights `json:"ema"`
	} `json:"runs"`
}

func readTrajectory(t *testing.T) (g trajectory) {
	testkit.ReadJSON(t, "../testdata/trajectory.json", &g)
	return g
}

var goldenRuns = map[string]struct {
	cfg  Config
	rate float64
}{
	"sgd":                           {Config{}, 0.5},
	"sgd_momentum":                  {Config{Momentum: 0.9}, 0.3},
	"sgd_nesterov":                  {Config{Momentum: 0.9, Nesterov: true}, 0.3},
	"sgd_weight_decay":              {Config{WeightDecay: 0.01}, 0.5},
	"adam":                          {Config{Method: Adam}, 0.05},
	"adamw":                         {Config{Method: AdamW, WeightDecay: 0.1}, 0.05},
	"sgd_adaptive_clip":             {Config{}, 0.5},
	"sgd_automatic_clip_gamma_0.01": {Config{}, 0.5},
}

func update[T float32 | float64](o *Optimizer, p []T, gradient []float64, rate float64) (finite bool) {
	o.Begin(rate)
	return Apply(o, 0, p, gradient)
}

// follow returns how far the parameters, and their average, ever get from the reference.
func follow(t *testing.T, name string, cfg Config, rate float64) (parameters, average float64) {
	g := readTrajectory(t)
	p := g.Start.flat()
	mean := append([]float64(nil), p...)
	o := testkit.Must(New(cfg, len(p)))
	distance := func(a, b []float64) (d float64) {
		for i := range a {
			d = math.Max(d, math.Abs(a[i]-b[i]))
		}
		return d
	}
	require.Len(t, g.Runs[name], 6)
	for _, step := range g.Runs[name] {
		require.True(t, update(o, p, step.Gradient.flat(), rate))
		Average(mean, p, 0.9)
		parameters = math.Max(parameters, distance(step.Params.flat(), p))
		average = math.Max(average, distance(step.EMA.flat(), mean))
	}
	return parameters, average
}

func TestGoldenTrajectories(t *testing.T) {
	require.Len(t, readTrajectory(t).Runs, len(goldenRuns))
	for name, run := range goldenRuns {
		p, mean := follow(t, name, run.cfg, run.rate)
		require.Less(t, p, 1e-9, name)
		require.Less(t, mean, 1e-9, name)
	}
	for name, wrong := range map[string]Config{
		"sgd_momentum":     {},
		"sgd_nesterov":     {Momentum: 0.9},
		"sgd_weight_decay": {WeightDecay: 0.011},
		"adam":             {Method: Adam, Beta2: 0.99},
		"adamw":            {Method: Adam, WeightDecay: 0.1},
	} {
		p, _ := follow(t, name, wrong, goldenRuns[name].rate)
		require.Greater(t, p, 1e-6, "%s goes unnoticed", name)
	}
}

func TestAdaGrad(t *testing.T) {
	o := testkit.Must(New(Config{Method: AdaGrad}, 1))
	p := []float32{1}
	require.True(t, update(o, p, []float64{3}, 0.1))
	require.InDelta(t, 0.9, p[0], 1e-6)
	require.True(t, update(o, p, []float64{4}, 0.1))
	require.InDelta(t, 0.9-0.1*4/5, p[0], 1e-6)
	require.Equal(t, []float64{25}, o.State().Second)
}

func everyConfig() []Config {
	return []Config{
		{}, {Momentum: 0.9}, {Momentum: 0.5, Nesterov: true, WeightDecay: 0.1},
		{Method: AdaGrad}, {Method: Adam}, {Method: AdamW, WeightDecay: 0.1},
	}
}

func TestPartsAndRestoredStates(t *testing.T) {
	for _, cfg := range everyConfig() {
		rnd := rand.New(rand.NewPCG(3, 1))
		const n = 37
		whole := testkit.Must(New(cfg, n))
		parts := testkit.Must(New(cfg, n))
		p, q := make([]float32, n), make([]float32, n)
		for range 5 {
			gradient := testkit.Series(n, func(j int) float64 { return rnd.NormFloat64() })
			require.True(t, update(whole, p, gradient, 0.1))
			again := testkit.Must(New(cfg, n))
			require.NoError(t, again.Restore(parts.State()))
			parts = again
			parts.Begin(0.1)
			require.True(t, Apply(parts, 20, q[20:], gradient[20:]))
			require.True(t, Apply(parts, 0, q[:20], gradient[:20]))
			require.Equal(t, p, q, "%+v", cfg)
		}
		require.Equal(t, whole.State(), parts.State())
		other := testkit.Must(New(cfg, n+1))
		if whole.State().First != nil || whole.State().Second != nil {
			require.ErrorContains(t, other.Restore(whole.State()), "another")
		}
		require.Error(t, other.Restore(State{Steps: -1}))
	}
	o := testkit.Must(New(Config{Method: AdaGrad}, 1))
	require.Error(t, o.Restore(State{Second: []float64{math.NaN()}}))
}

func TestStepReportsWhatIsNotFinite(t *testing.T) {
	for _, cfg := range everyConfig() {
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			o := testkit.Must(New(cfg, 3))
			require.False(t, update(o, make([]float32, 3), []float64{0, bad, 0}, 1), "%+v", cfg)
		}
	}
	o := testkit.Must(New(Config{}, 1))
	require.False(t, update(o, []float32{math.MaxFloat32}, []float64{-math.MaxFloat32}, 1), "finite as a double only")
}

func TestNothingMovesWithoutGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Float64Range(-10, 10).Draw(t, "parameter")
		for _, cfg := range everyConfig() {
			cfg.WeightDecay = 0
			o := testkit.Must(New(cfg, 1))
			p := []float64{start}
			require.True(t, update(o, p, []float64{0}, 1))
			require.Equal(t, start, p[0])
		}
	})
}

func TestConfigIsRefusedByField(t *testing.T) {
	nan := math.NaN()
	for field, bad := range map[string][]Config{
		"Method":      {{Method: "sgdm"}},
		"Momentum":    {{Momentum: 1}, {Momentum: -0.1}, {Momentum: nan}, {Method: Adam, Momentum: 0.9}},
		"Nesterov":    {{Nesterov: true}, {Method: AdaGrad, Nesterov: true}},
		"WeightDecay": {{WeightDecay: -1}, {WeightDecay: nan}, {WeightDecay: math.Inf(1)}},
		"Beta1":       {{Beta1: 0.9}, {Method: Adam, Beta1: 1}, {Method: Adam, Beta1: nan}, {Method: AdaGrad, Beta1: 0.9}},
		"Beta2":       {{Beta2: 0.9}, {Method: AdamW, Beta2: 1}},
		"Epsilon":     {{Epsilon: 1e-8}, {Method: Adam, Epsilon: -1}, {Method: Adam, Epsilon: nan}},
	} {
		for _, cfg := range bad {
			require.ErrorContains(t, cfg.Validate(), "Config."+field+" ", "%+v", cfg)
			require.Error(t, testkit.Err(New(cfg, 1)))
		}
	}
	for _, cfg := range everyConfig() {
		require.NoError(t, cfg.Validate())
	}
	require.Error(t, testkit.Err(New(Config{}, 0)))
}
