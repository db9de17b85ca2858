package recipe

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// strokes is a task of images of 16 x 16 with a stroke, upright or lying, which moves.
func strokes(t *testing.T, private, test int) dataset.Task {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, 7))
	make := func(n int, part string) dataset.Set {
		const side = 16
		s := dataset.Set{Name: "strokes", X: dense.New(n, side*side), Classes: []string{"upright", "lying"}, Image: dataset.Shape{Rows: side, Cols: side}}
		for i := range n {
			class, at, from := i%2, 4+rnd.IntN(8), rnd.IntN(4)
			for k := from; k < from+10; k++ {
				y, x := k, at
				if class == 1 {
					y, x = at, k
				}
				s.X.Data[i*side*side+y*side+x] = 0.5 + rnd.Float32()/2
			}
			s.Y = append(s.Y, class)
			s.Units = append(s.Units, part+string(rune('a'+i%26))+string(rune('a'+i/26)))
			s.IDs = append(s.IDs, s.Units[i])
		}
		return s
	}
	return dataset.Task{Name: "strokes", Protocol: dataset.Literature, Private: make(private, "private"), Pool: make(test/2, "pool"), Test: make(test-test/2, "test"),
		Classes: []string{"upright", "lying"}, Image: dataset.Shape{Rows: 16, Cols: 16}}
}

func modelPath(dir, name string) string {
	return filepath.Join(dir, "private", "results", "models", name)
}

func modelOf(t *testing.T, c Config, name string) *Model {
	t.Helper()
	return testkit.Must(OpenModel(modelPath(c.Dir, name)))
}

func config(t *testing.T, task dataset.Task, plans ...Plan) Config {
	t.Helper()
	return Config{Task: task, Delta: 1e-4, Plans: plans, Key: rng.SeedKey(11), Dir: t.TempDir()}
}

// answer returns the epsilon of events, each so many times, by their privacy loss distribution, at delta less the
// share for discrete noise.
func answer(t *testing.T, delta float64, count int64, events ...accountant.Event) accountant.Bound {
	account := testkit.Must(accountant.NewPLD(accountant.PLDConfig{Relation: accountant.AddRemove}))
	for _, e := range events {
		require.NoError(t, account.Compose(e, count))
	}
	return testkit.Must(account.Epsilon(t.Context(), delta*(1-latticeShare)))
}

func TestEveryRecipeTrainsWithinItsBudget(t *testing.T) {
	task := strokes(t, 240, 80)
	s := ShapeOf(task)
	base := Default(s, features.NamePixels, "", 4)
	base.Train.Steps = 20
	base.Statistics.SecondNoise, base.Statistics.SecondClip = 4, 1 // of 240 images a second moment is all noise otherwise
	test := task.WithoutPool().Test
	variants := map[string]func(*Recipe){
		"plain":            func(*Recipe) {},
		"hog":              func(r *Recipe) { r.Features = features.NameHOG },
		"deskewed hog":     func(r *Recipe) { r.Features = features.NameDeskewedHOG },
		"centred":          func(r *Recipe) { r.Features = CentredHOG },
		"scattering":       func(r *Recipe) { r.Features = ScatteringHOG },
		"scattering alone": func(r *Recipe) { r.Features, r.Model = Scattering, "mlp:3" },
		"deskewed":         func(r *Recipe) { r.Features = deskewed + ScatteringHOG },
		"mlp":              func(r *Recipe) { r.Model = "mlp:8,4" },
		"per layer":        func(r *Recipe) { r.Model, r.Train.Clipping.PerGroup = "mlp:8", true },
		"automatic":        func(r *Recipe) { r.Train.Clipping.Stabilizer = 0.01 },
		"other gradients": func(r *Recipe) {
			r.Features, r.Statistics.Gradients = CentredHOG, features.HOG{Bins: 6, Cell: 5, Block: 2, Clip: 0.3}
		},
		"adaptive": func(r *Recipe) {
			r.Train.Clipping.Adaptive = dpsgd.Adaptive{Quantile: 0.5, LearningRate: 0.2, CountNoise: 30}
		},
		"adam":            func(r *Recipe) { r.Train.Optimizer, r.Train.LearningRate = optim.Config{Method: optim.Adam}, 0.01 },
		"cosine, average": func(r *Recipe) { r.Train.Schedule.Shape, r.Train.AverageDecay = dpsgd.Cosine, 0.8 },
		"views":           func(r *Recipe) { r.Views, r.Train.Steps = 2, 4 },
		"cnn":             func(r *Recipe) { r.Model, r.Train.Steps = CNN, 3 },
	}
	for name, change := range variants {
		t.Run(name, func(t *testing.T) {
			r := base
			change(&r)
			c := config(t, task, Plan{Recipe: r, Epsilon: 4})
			result := testkit.Must(Run(t.Context(), c))
			require.Equal(t, 80, result.Test, "the pool scores too")
			row := result.Rows[0]
			require.LessOrEqual(t, *row.Epsilon, 4.0)
			require.Greater(t, *row.Epsilon, 3.99)
			require.Equal(t, *row.Epsilon, row.Curve[len(row.Curve)-1].Epsilon)
			learned, _ := r.learned(s)
			require.Len(t, row.Statistics, len(learned.Events()))
			require.Len(t, row.Account.Events, len(row.Statistics)+1)
			require.InDelta(t, *row.Epsilon, answer(t, 1e-4, 1, row.Account.Events...).Upper, 1e-9)
			if name == "hog" {
				require.Greater(t, row.Accuracy, 0.9)
			}

			m := modelOf(t, c, "epsilon-4-run-0.model")
			require.Equal(t, row.Accuracy, accuracyOf(t, m, test))
			require.Equal(t, Card{
				Data: "strokes", Features: r.Features, Kind: r.Model, Columns: 256, Image: task.Image, Classes: task.Classes,
				Extractor: m.Extractor, Epsilon: row.Epsilon, Delta: 1e-4, Unit: "record", Scored: m.Scored,
			}, m.Card)
			require.True(t, m.ScoredOn(test))
			require.False(t, m.ScoredOn(task.Private))
			all := testkit.Must(m.Predictions(t.Context(), test))
			for i := 0; i < test.Len(); i += 17 {
				require.Equal(t, all[i:i+1], testkit.Must(m.Predictions(t.Context(), testkit.Must(test.Slice(i, i+1)))))
			}
			file := testkit.Must(os.ReadFile(modelPath(c.Dir, "epsilon-4-run-0.model")))
			book := testkit.Must(os.ReadFile(filepath.Join(c.Dir, "private", "ledger", "epsilon-4-run-0.jsonl")))
			require.Contains(t, string(book), fmt.Sprintf("%x", sha256.Sum256(file)))
		})
	}
}

func TestDrawsOfStatisticsCount(t *testing.T) {
	s := ShapeOf(strokes(t, 240, 20))
	draws := func(name string) (draws, training, columns int) {
		p := Plan{Recipe: Default(s, name, "", 1), Epsilon: 1}
		to := testkit.Must(p.claim(s, 1e-5))
		columns = testkit.Must(p.Recipe.Columns(s))
		m := testkit.Must(p.Recipe.newModel(s, columns, rng.SeedKey(0)))
		return to.draws, p.Recipe.Train.Steps * len(m.Parameters()), columns
	}
	all, training, _ := draws(features.NameHOG)
	require.Equal(t, training, all, "nothing is learned")
	for _, name := range []string{CentredHOG, Scattering, ScatteringHOG} {
		all, training, columns := draws(name)
		least := training + columns
		if name != CentredHOG {
			least += features.Channels * (features.Channels + 1) / 2
		}
		require.Positive(t, training)
		require.GreaterOrEqual(t, all, least, name)
	}
}

func TestAllRunsCountTogether(t *testing.T) {
	task := strokes(t, 240, 20)
	c := config(t, task, Plan{Recipe: Default(ShapeOf(task), features.NameHOG, "", 1), Epsilon: 1},
		Plan{Recipe: Default(ShapeOf(task), features.NameHOG, "", 1), NonPrivate: true},
		Plan{Recipe: Default(ShapeOf(task), CentredHOG, "", 2), Epsilon: 2})
	c.Seeds = 3
	r := runner{Config: c, shape: ShapeOf(task)}
	rows, draws := make([]Row, 3), 0
	for _, i := range []int{0, 2} {
		rows[i].Account = &accountant.Schedule{Relation: relation, Events: c.Plans[i].events(5)}
		draws += 3 * testkit.Must(c.Plans[i].claim(r.shape, c.Delta)).draws
	}
	together, all := testkit.Must2(r.together(rows))
	require.Equal(t, claim{c.Delta, draws}, together)
	require.Equal(t, []accountant.Event{accountant.Repeated{Event: whole(c.Plans[0].events(5)), Count: 3},
		accountant.Repeated{Event: whole(c.Plans[2].events(5)), Count: 3}}, all.Events)
}

func TestDiscreteNoiseIsAllowedFor(t *testing.T) {
	s := ShapeOf(strokes(t, 240, 20))
	p := Plan{Recipe: Default(s, features.NameHOG, "", 1), Epsilon: 1}
	to := testkit.Must(p.claim(s, 1e-5))
	require.Positive(t, to.draws)
	noise := testkit.Must(to.calibrate(t.Context(), p))
	event := whole(p.events(noise))
	b := testkit.Must(to.epsilonOf(t.Context(), event))
	require.LessOrEqual(t, b.Upper, 1.0)
	require.Greater(t, b.Upper, 0.999)

	coarse := claim{delta: 1e-5, draws: 1 << 50}
	require.False(t, coarse.continuous(1))
	dear := testkit.Must(coarse.epsilonOf(t.Context(), event))
	require.Greater(t, dear.Upper, b.Upper*1.01, "by Rényi divergences")
	noise = testkit.Must(coarse.calibrate(t.Context(), p))
	dear = testkit.Must(coarse.epsilonOf(t.Context(), whole(p.events(noise))))
	require.LessOrEqual(t, dear.Upper, 1.0)
}

// What statistics cost is part of epsilon: the same target needs more noise.
func TestStatisticsAreCharged(t *testing.T) {
	s := ShapeOf(strokes(t, 240, 20))
	cheap, dear := Default(s, ScatteringHOG, "", 1), Default(s, ScatteringHOG, "", 1)
	cheap.Features = features.NameHOG
	to := claim{delta: 1e-5}
	a := testkit.Must(to.calibrate(t.Context(), Plan{Recipe: cheap, Epsilon: 1}))
	require.Greater(t, testkit.Must(to.calibrate(t.Context(), Plan{Recipe: dear, Epsilon: 1})), a)
	dear.Statistics.MeanNoise = 0.5
	require.ErrorIs(t, testkit.Err(to.calibrate(t.Context(), Plan{Recipe: dear, Epsilon: 1})), ErrBudget)
}

func TestAnInterruptedRunEndsAlike(t *testing.T) {
	task := strokes(t, 240, 20)
	r := Default(ShapeOf(task), CentredHOG, "", 4)
	r.Train.Steps = 60
	c := config(t, task, Plan{Recipe: r, Epsilon: 4})
	whole := testkit.Must(Run(t.Context(), c))
	first := c.Dir
	c.Dir = t.TempDir()
	for cut := 7; ; cut += 7 {
		ctx, cancel := context.WithCancel(t.Context())
		c.Progress = func(p Progress) {
			if p.Total == 60 && p.Done >= cut {
				cancel()
			}
		}
		again, err := Run(ctx, c)
		cancel()
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			require.Less(t, cut, 100)
			continue
		}
		require.Greater(t, cut, 7)
		for _, r := range []*Result{whole, again} {
			r.Seconds, r.Rows[0].Seconds = 0, 0
		}
		require.Equal(t, whole, again)
		break
	}
	models := [2][]byte{}
	for i, dir := range []string{first, c.Dir} {
		models[i] = testkit.Must(os.ReadFile(modelPath(dir, "epsilon-4-run-0.model")))
	}
	require.Equal(t, models[0], models[1])
	files := testkit.Must(filepath.Glob(filepath.Join(c.Dir, "private", "*", "checkpoint")))
	require.Empty(t, files, "a checkpoint tells of private rows and is not kept")
	before := testkit.Must(os.ReadFile(filepath.Join(c.Dir, "private", "ledger", "epsilon-4-run-0.jsonl")))
	require.NoError(t, testkit.Err(Run(t.Context(), c)))
	after := testkit.Must(os.ReadFile(filepath.Join(c.Dir, "private", "ledger", "epsilon-4-run-0.jsonl")))
	require.Equal(t, string(before), string(after), "nothing is charged twice")
}

func TestWithoutPrivacyNothingIsClaimed(t *testing.T) {
	task := strokes(t, 240, 40)
	// The noise of CentredHOG's statistics is large beside so few rows.
	for name, least := range map[string]float64{features.NameHOG: 0.9, CentredHOG: 0.4} {
		r := Default(ShapeOf(task), name, "", math.Inf(1))
		r.Train.Steps = 20
		c := config(t, task, Plan{Recipe: r, NonPrivate: true})
		result := testkit.Must(Run(t.Context(), c))
		row := result.Rows[0]
		require.Nil(t, row.Epsilon)
		require.Nil(t, row.Account)
		require.False(t, result.Releasable)
		require.Zero(t, row.Noise)
		require.Zero(t, row.ClipNorm)
		require.Greater(t, row.Accuracy, least)
	}
}

func TestConfigIsRefused(t *testing.T) {
	task := strokes(t, 60, 20)
	good := Default(ShapeOf(task), features.NamePixels, "", 1)
	for name, change := range map[string]func(*Config){
		"no plan":       func(c *Config) { c.Plans = nil },
		"delta":         func(c *Config) { c.Delta = 1.0 / 60 },
		"NaN delta":     func(c *Config) { c.Delta = math.NaN() },
		"seeds":         func(c *Config) { c.Seeds = -1 },
		"twice":         func(c *Config) { c.Plans = append(c.Plans, c.Plans[0]) },
		"no target":     func(c *Config) { c.Plans[0].Epsilon = 0 },
		"NaN target":    func(c *Config) { c.Plans[0].Epsilon = math.NaN() },
		"both":          func(c *Config) { c.Plans[0].NoiseMultiplier = 1 },
		"no clip":       func(c *Config) { c.Plans[0].Recipe.Train.ClipNorm = math.Inf(1) },
		"features":      func(c *Config) { c.Plans[0].Recipe.Features = "magic" },
		"width":         func(c *Config) { c.Plans[0].Recipe.Model = "mlp:0" },
		"no width":      func(c *Config) { c.Plans[0].Recipe.Model = "mlp" },
		"cnn on hog":    func(c *Config) { c.Plans[0].Recipe.Model, c.Plans[0].Recipe.Features = CNN, features.NameHOG },
		"views of hog":  func(c *Config) { c.Plans[0].Recipe.Views, c.Plans[0].Recipe.Features = 2, features.NameHOG },
		"callback":      func(c *Config) { c.Plans[0].Recipe.Train.Observe = func(dpsgd.Metrics) {} },
		"cache":         func(c *Config) { c.Plans[0].Recipe.Statistics.Cache = &features.Cache{} },
		"steps":         func(c *Config) { c.Plans[0].Recipe.Train.Steps = 0 },
		"rows of units": func(c *Config) { c.RowsPerUnit = dpsgd.MaxRows + 1 },
		"records":       func(c *Config) { c.Records = -1 },
		"delta of them": func(c *Config) { c.Records, c.Delta = 20_000, 1e-4 },
		"ledger, seeds": func(c *Config) { c.Shared, c.Seeds = &Shared{}, 2 },
	} {
		t.Run(name, func(t *testing.T) {
			c := config(t, task, Plan{Recipe: good, Epsilon: 1})
			require.NoError(t, c.Validate())
			change(&c)
			require.ErrorIs(t, c.Validate(), ErrConfig)
			require.ErrorIs(t, testkit.Err(Run(t.Context(), c)), ErrConfig)
		})
	}
}

func TestDataThatChangedAreNotMixed(t *testing.T) {
	task := strokes(t, 60, 20)
	r := Default(ShapeOf(task), features.NamePixels, "", 1)
	r.Train.Steps = 4
	c := config(t, task, Plan{Recipe: r, Epsilon: 1})
	require.NoError(t, testkit.Err(Run(t.Context(), c)))
	c.Task.Private.Y = append([]int(nil), c.Task.Private.Y...)
	c.Task.Private.Y[3] ^= 1
	require.ErrorIs(t, testkit.Err(Run(t.Context(), c)), run.ErrOtherRun)
}

func TestAllSeedsAreCountedTogether(t *testing.T) {
	task := strokes(t, 240, 20)
	r := Default(ShapeOf(task), features.NamePixels, "", 4)
	r.Train.Steps = 3
	c := config(t, task, Plan{Recipe: r, NoiseMultiplier: 4}, Plan{Recipe: r, NoiseMultiplier: 6})
	c.Seeds = 3
	result := testkit.Must(Run(t.Context(), c))
	b := answer(t, 1e-4, 3, slices.Concat(result.Rows[0].Account.Events, result.Rows[1].Account.Events)...)
	require.InDelta(t, b.Lower, result.EpsilonAll, 0.01*b.Upper)
	require.GreaterOrEqual(t, result.EpsilonAll, b.Lower)
	for _, row := range result.Rows {
		require.Greater(t, result.EpsilonAll, 1.5**row.Epsilon)
	}
}

func TestPlansShareFeatures(t *testing.T) {
	task := strokes(t, 240, 40)
	plan := func(epsilon float64) Plan {
		p := Plan{Recipe: Default(ShapeOf(task), ScatteringHOG, "", epsilon), Epsilon: epsilon}
		if p.NonPrivate = math.IsInf(epsilon, 1); p.NonPrivate {
			p.Epsilon = 0
		}
		p.Recipe.Train.Steps = 8
		return p
	}
	plans := []Plan{plan(3), plan(6), plan(math.Inf(1))}
	made := 0
	run := func(plans ...Plan) map[string]string {
		c := config(t, task, plans...)
		c.Seeds = 2
		c.Progress = func(p Progress) {
			if p.Stage == "scattering" {
				made++
			}
		}
		require.NoError(t, testkit.Err(Run(t.Context(), c)))
		models := testkit.Must(filepath.Glob(modelPath(c.Dir, "*")))
		out := map[string]string{}
		for _, m := range models {
			text := testkit.Must(os.ReadFile(m))
			out[filepath.Base(m)] = string(text)
		}
		return out
	}
	together := run(plans...)
	require.Len(t, together, 6)
	require.Equal(t, 2, made, "once for each seed")
	for _, p := range plans {
		for name, text := range run(p) {
			require.Equal(t, text, together[name], name)
		}
	}
}

func TestNoPointOfACurveEndsWithACheckpoint(t *testing.T) {
	for total := 1; total < 3000; total++ {
		points := 0
		for step := 1; step < total; step++ {
			if onCurve(step, total) {
				points++
				if step > 1 {
					require.NotZero(t, step%checkpointEvery(total), "step %d of %d", step, total)
				}
			}
		}
		if total >= 2*curvePoints {
			require.Equal(t, curvePoints-1, points, "%d steps", total)
		}
	}
}

func TestNoiseIsForTheSamplingThatRuns(t *testing.T) {
	to := claim{delta: 1e-5}
	p := Plan{Epsilon: 2, Recipe: Recipe{Features: "raw", Train: dpsgd.Config{
		Steps: 14, ClipNorm: 1, LearningRate: 1, Sampling: dpsgd.Sampling{Scheme: dpsgd.Allocation, EpochSteps: 7},
	}}}
	noise := testkit.Must(to.calibrate(t.Context(), p))
	events := p.events(noise)
	require.Equal(t, []accountant.Event{p.train(noise).Event()}, events)
	bound := testkit.Must(to.epsilonOf(t.Context(), events[0]))
	require.LessOrEqual(t, bound.Upper, 2.0)
	require.Greater(t, bound.Upper, 1.99)
	require.Equal(t, answer(t, 1e-5, 1, events[0]).Upper, bound.Upper)
}
