package tuned

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/tune"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// blobs is a task of two columns in five classes on a ring, which hardly overlap.
func blobs(private, public int) dataset.Task {
	rnd := rand.New(rand.NewPCG(5, 5))
	names := []string{"a", "b", "c", "d", "e"}
	part := func(name string, n int) dataset.Set {
		s := dataset.Set{Name: "blobs", X: blas32.General{Rows: n, Cols: 2, Stride: 2}, Classes: names}
		for i := range n {
			y, x := math.Sincos(2 * math.Pi * float64(i) / 5)
			s.X.Data = append(s.X.Data, float32(4*x+rnd.NormFloat64()), float32(4*y+rnd.NormFloat64()))
			s.Y = append(s.Y, i%5)
			s.IDs = append(s.IDs, fmt.Sprintf("%s/%d", name, i))
		}
		s.Units = s.IDs
		return s
	}
	return dataset.Task{Name: "blobs", Protocol: dataset.Literature, Kind: dataset.Columns, Classes: names,
		Private: part("private", private), Pool: part("pool", public), Test: part("test", public)}
}

func config(t *testing.T, law tune.Law) Config {
	t.Helper()
	task := blobs(200, 60)
	base := recipe.Default(recipe.ShapeOf(task), "", "", 4)
	base.Train.Steps = 5
	rates := testkit.Must(Grid(map[string][]string{"learning_rate": {"1e-6", "0.5"}, "momentum": {"0", "0.9"}}))
	return Config{Task: task, Delta: 1e-4, Epsilon: 4, Base: base, Settings: rates, Law: law, Key: rng.SeedKey(3), Dir: t.TempDir()}
}

func epsilonOf(t *testing.T, s accountant.Schedule, delta float64) float64 {
	t.Helper()
	return testkit.Must(accountant.Epsilon(t.Context(), accountant.ByRDP, s.Relation, delta, s.Events...)).Upper
}

func TestWholeCostIsOneEntry(t *testing.T) {
	for name, c := range map[string]struct {
		eta     float64
		private *Private
	}{"poisson, public rows": {}, "geometric, private rows": {1, &Private{0.3, 12}}} {
		t.Run(name, func(t *testing.T) {
			law, err := tune.Poisson(3)
			if c.eta != 0 {
				law, err = tune.NegativeBinomial(c.eta, 3)
			}
			require.NoError(t, err)
			cfg := config(t, law)
			cfg.Private = c.private
			r := testkit.Must(Run(context.Background(), cfg))
			require.NotNil(t, r.Chosen)
			require.Equal(t, epsilonOf(t, r.Account, cfg.Delta), r.Epsilon)
			require.LessOrEqual(t, r.Epsilon, cfg.Epsilon)
			require.Greater(t, r.Epsilon, cfg.Epsilon*(1-1e-6))
			require.Greater(t, r.Noise, r.OneNoise)
			require.False(t, r.Releasable, "a seed")

			state := ledgerState(t, results.Folder(cfg.Dir).Private(ledgerFile))
			require.EqualValues(t, 1, state.Entries)
			require.EqualValues(t, 1, state.Commits)
			m := testkit.Must(recipe.OpenModel(ModelFile(cfg.Dir, false)))
			require.Equal(t, r.Epsilon, *m.Epsilon)
			require.Equal(t, cfg.Delta, m.Delta)
			require.NoDirExists(t, filepath.Join(cfg.Dir, searchState))
			require.Equal(t, asJSON(t, r), asJSON(t, testkit.Must(Run(context.Background(), cfg))))
			require.Equal(t, r.Noise, testkit.Must(cfg.Quote(context.Background())).Noise)

			cfg.Delta = 1e-5
			require.ErrorIs(t, testkit.Err(Run(context.Background(), cfg)), run.ErrOtherRun)
		})
	}
}

func ledgerState(t *testing.T, path string) ledger.Summary {
	t.Helper()
	f := testkit.Must(os.Open(path))
	defer f.Close()
	return testkit.Must(ledger.Verify(f, ledger.VerifyOptions{Heads: testkit.Must(run.ReadHeads(path)).Of}))
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	return string(testkit.Must(json.Marshal(v)))
}

func TestKilledAnywhere(t *testing.T) {
	cfg := config(t, tune.Law{Mean: 2})
	cfg.Base.Train.Steps, cfg.Key = 3, rng.SeedKey(8)
	var all []string
	want, err := Run(crash.With(context.Background(), func(place string) error { all = append(all, place); return nil }), cfg)
	require.NoError(t, err)
	model := testkit.Must(os.ReadFile(ModelFile(cfg.Dir, false)))
	require.Contains(t, all, "run")
	require.Greater(t, len(all), 12)
	killed := errors.New("killed")
	for at, place := range all {
		if slices.Index(all, place) != at && slices.Contains(all[at+1:], place) {
			continue // the first and the last of each kind
		}
		cfg.Dir = t.TempDir()
		n := 0
		_, err := Run(crash.With(context.Background(), func(string) error {
			if n++; n > at {
				return killed
			}
			return nil
		}), cfg)
		require.ErrorIs(t, err, killed)
		got, err := Run(context.Background(), cfg)
		require.NoError(t, err, "killed at %d, %s", at, place)
		require.Equal(t, asJSON(t, want), asJSON(t, got))
		require.Equal(t, model, testkit.Must(os.ReadFile(ModelFile(cfg.Dir, false))))
		require.EqualValues(t, 1, ledgerState(t, results.Folder(cfg.Dir).Private(ledgerFile)).Entries)
	}
}

func TestTheBetterSettingIsChosen(t *testing.T) {
	for name, private := range map[string]*Private{"public": nil, "private": {0.5, 4}} {
		cfg := config(t, tune.Law{Mean: 12})
		cfg.Epsilon, cfg.Private, cfg.Base.Model, cfg.Base.Train.Steps = 40, private, "mlp:16", 30
		r := testkit.Must(Run(context.Background(), cfg))
		require.Equal(t, 0.5, *r.Chosen.LearningRate, name)
		require.Greater(t, r.Chosen.Accuracy, 0.75, name)
	}
}

func TestNothingIsChosen(t *testing.T) {
	cfg := config(t, tune.Law{Mean: 1e-12})
	require.Nil(t, testkit.Must(Run(context.Background(), cfg)).Chosen)
	require.Equal(t, Nothing, string(testkit.Must(os.ReadFile(ModelFile(cfg.Dir, false)))))
	require.EqualValues(t, 1, ledgerState(t, results.Folder(cfg.Dir).Private(ledgerFile)).Commits)
}

func TestSharedLedger(t *testing.T) {
	cfg := config(t, tune.Law{Mean: 2})
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	account := ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 8, Delta: 1e-4, Mode: ledger.Filter, Noise: ledger.SeededNoise}
	cfg.Shared = &recipe.Shared{File: run.File{Path: filepath.Join(t.TempDir(), "shared.jsonl"), New: account}, Account: account}
	require.LessOrEqual(t, testkit.Must(Run(context.Background(), cfg)).Epsilon, 4.0)
	cfg.Epsilon, cfg.Dir = 0, t.TempDir()
	killed := errors.New("killed")
	_, err := Run(crash.With(context.Background(), func(place string) error {
		if place == "reserved" {
			return killed
		}
		return nil
	}), cfg)
	require.ErrorIs(t, err, killed)
	rest := testkit.Must(Run(context.Background(), cfg)) // with the noise that was charged, although nothing is left
	require.Equal(t, epsilonOf(t, rest.Account, cfg.Delta), rest.Epsilon)
	require.Less(t, rest.Epsilon, 8.0)
	require.EqualValues(t, 2, ledgerState(t, cfg.Shared.File.Path).Entries)
	cfg.Dir = t.TempDir()
	again := testkit.Must(Run(context.Background(), cfg)) // the ledger knows it without its folder
	require.Equal(t, rest, again)
	require.EqualValues(t, 2, ledgerState(t, cfg.Shared.File.Path).Entries)
}

func TestPrivateRowsChooseByUnit(t *testing.T) {
	all := blobs(300, 10).Private
	train, choose := split(all, 0.3)
	require.Equal(t, all.Len(), train.Len()+choose.Len())
	require.InDelta(t, 90, choose.Len(), 40)
	require.NoError(t, train.Validate())
	require.NoError(t, choose.Validate())
	trainLess, chooseLess := split(testkit.Must(all.Slice(1, all.Len())), 0.3)
	require.Equal(t, 1, train.Len()-trainLess.Len()+choose.Len()-chooseLess.Len())
	require.Subset(t, train.Units, trainLess.Units)
	require.Subset(t, choose.Units, chooseLess.Units)

	cfg := config(t, tune.Law{Mean: 2})
	cfg.Private = &Private{0.5, 5}
	units := testkit.Series(cfg.Task.Private.Len(), func(i int) string { return fmt.Sprint("unit ", i/4) })
	cfg.Task.Private.Units = units
	j := testkit.Must(cfg.newJob())
	require.Equal(t, len(units)/4, j.choose.Len()+j.inner.Private.Len(), "one row of each unit")
}

// The number of right answers on private rows has the noise that is charged for it. False alarm: below 1e-9.
func TestScoresFromModelRowsAreNoised(t *testing.T) {
	cfg := config(t, tune.Law{Mean: 3})
	cfg.Private = &Private{0.5, 6}
	require.NotNil(t, testkit.Must(Run(context.Background(), cfg)).Chosen)
	m := testkit.Must(recipe.OpenModel(ModelFile(cfg.Dir, false)))
	j := testkit.Must(cfg.newJob())
	accuracy, known := m.Accuracy(testkit.Must(m.Predict(context.Background(), j.choose)), j.choose)
	require.True(t, known)
	right, squares := accuracy*float64(j.choose.Len()), 0.0
	const n = 2000
	for i := range uint64(n) {
		score := testkit.Must(j.score(context.Background(), m, recipe.Row{}, rng.SeedKey(9).Derive("run", i)))
		squares += (score - right) * (score - right) / n
	}
	require.InDelta(t, 36, squares, 6.5*36*math.Sqrt(2.0/n))
	event := testkit.Must(j.event(5))
	require.Equal(t, accountant.Composed{Events: []accountant.Event{j.plans[0].Event(5), accountant.DiscreteGaussian{Sigma: 6, Sensitivity: 1}}}, event)
}

func TestRunsChargeWhatTheSearchCountsOn(t *testing.T) {
	a, b := accountant.Gaussian{NoiseMultiplier: 3}, accountant.Gaussian{NoiseMultiplier: 4}
	both := accountant.Composed{Events: []accountant.Event{a, b}}
	add := func(events ...accountant.Event) *accountant.Schedule {
		return &accountant.Schedule{Relation: accountant.AddRemove, Events: events}
	}
	require.NoError(t, isCharged(a, add(a)))
	require.NoError(t, isCharged(both, add(a, b)))
	require.Error(t, isCharged(both, add(a)))
	require.Error(t, isCharged(a, add(b)))
	require.Error(t, isCharged(a, &accountant.Schedule{Relation: accountant.ReplaceOne, Events: []accountant.Event{a}}))
}

// Settings whose runs cost differently are refused, and so is what cannot be a Config.
func TestBadConfigs(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"delta": func(c *Config) { c.Delta = 0.1 }, "epsilon": func(c *Config) { c.Epsilon = 0 }, "law": func(c *Config) { c.Law = tune.Law{} },
		"settings": func(c *Config) { c.Settings = nil }, "no pool": func(c *Config) { c.Task.Pool = dataset.Set{} },
		"share": func(c *Config) { c.Private = &Private{1, 3} }, "every": func(c *Config) { c.Every = -1 },
		"sigma": func(c *Config) { c.Private = &Private{0.2, 0} }, "model": func(c *Config) { c.Settings = []Setting{{Model: "forest"}} },
	} {
		c := config(t, tune.Law{Mean: 2})
		change(&c)
		require.Error(t, testkit.Err(c.Quote(context.Background())), name)
		require.NoFileExists(t, results.Folder(c.Dir).Private(ledgerFile))
	}
	c := config(t, tune.Law{Mean: 2})
	for _, part := range []*dataset.Set{&c.Task.Private, &c.Task.Pool, &c.Task.Test} {
		n := part.Len()
		part.Image = dataset.Shape{Rows: 16, Cols: 16}
		part.X = blas32.General{Rows: n, Cols: 256, Stride: 256, Data: make([]float32, 256*n)}
	}
	c.Task.Image = dataset.Shape{Rows: 16, Cols: 16}
	c.Base = recipe.Default(recipe.ShapeOf(c.Task), features.NameHOG, "", 4)
	c.Settings = []Setting{{}, {Features: recipe.CentredHOG}}
	require.ErrorIs(t, testkit.Err(c.Quote(context.Background())), ErrCostsDiffer)
}

// TestADeclaredNumberOfUnits takes the place of the number in the data: what a search costs,
// its noise, and what is said of it do not move with a unit, and updates are divided by it.
func TestADeclaredNumberOfUnits(t *testing.T) {
	law := testkit.Must(tune.NegativeBinomial(1, 2))
	for _, private := range []*Private{nil, {0.25, 12}} {
		of := func(found, declared int) (*Result, *job) {
			cfg := config(t, law)
			cfg.Task, cfg.Records, cfg.Private = blobs(found, 60), declared, private
			cfg.Base.Train.SamplingProbability = 0.5
			cfg.Settings = cfg.Settings[:1]
			j := testkit.Must(cfg.newJob())
			r := testkit.Must(Run(t.Context(), cfg))
			r.Chosen = nil
			return r, j
		}
		want, j := of(200, 160)
		require.Equal(t, 160, want.Private)
		trained := 160
		if private != nil {
			trained = 120
		}
		require.Equal(t, trained, j.declared())
		require.Equal(t, trained, j.shape.Records)
		less, _ := of(199, 160)
		require.Equal(t, want, less)
		found, _ := of(200, 0)
		require.Equal(t, 200, found.Private)
	}
	weights := func(declared int) (sum float64) { // of a model after one step of all records
		cfg := config(t, law)
		cfg.Records, cfg.Epsilon, cfg.Settings = declared, 1e4, []Setting{{}}
		cfg.Base.Train.SamplingProbability, cfg.Base.Train.Steps, cfg.Base.Train.Optimizer.Momentum = 1, 1, 0
		require.NoError(t, testkit.Err(Run(t.Context(), cfg)))
		plain, ok := testkit.Must(recipe.OpenModel(ModelFile(cfg.Dir, false))).Plain()
		require.True(t, ok)
		for _, row := range plain.Linear.Weights {
			for _, w := range row {
				sum += math.Abs(w)
			}
		}
		return sum
	}
	require.InEpsilon(t, weights(200)/2, weights(400), 0.05, "sums are divided by the declared number")

	cfg := config(t, law)
	cfg.Records = -1
	require.ErrorIs(t, cfg.Validate(), ErrConfig)
	cfg.Records, cfg.Delta = 20000, 1e-4
	require.ErrorContains(t, cfg.Validate(), "1/20000")
}

func TestSettingsAreReadAlike(t *testing.T) {
	fromJSON := testkit.Must(ParseSettings([]byte(` [{"learning_rate": 0.5, "model": "mlp:8,4"}, {}, {"momentum": 0}]`)))
	fromCSV := testkit.Must(ParseSettings([]byte("learning_rate,model,momentum\n0.5,\"mlp:8,4\",\n,,\n,,0\n")))
	require.Equal(t, fromJSON, fromCSV)
	require.Equal(t, "model mlp:8,4, learning_rate 0.5", fromJSON[0].String())
	require.Equal(t, "the base recipe", fromJSON[1].String())
	grid := testkit.Must(Grid(map[string][]string{"clip": {"0.5", "1"}, "optimizer": {"sgd", "adam"}}))
	require.Equal(t, "[optimizer sgd, clip 0.5 optimizer sgd, clip 1 optimizer adam, clip 0.5 optimizer adam, clip 1]", fmt.Sprint(grid))
}

func TestBadSettings(t *testing.T) {
	for _, text := range []string{
		"", "[]", "[{}] x", "[{}, {}]", `[{"steps": 3}]`, `[{"clip": "x"}]`, "clip\nx\n", "clip\nNaN\n", "clip\n1\n1.0\n", "clip,rate\n1,2\n", "clip\n1,2\n",
		"clip\n\"", "clip\n", "clip\n" + strings.Repeat("1\n", MaxSettings+1), strings.Repeat(" ", 1<<22) + "[]",
	} {
		require.ErrorIs(t, testkit.Err(ParseSettings([]byte(text))), ErrSettings, "%.40q", text)
	}
	many := testkit.Series(101, func(i int) string { return fmt.Sprint(i) })
	for _, values := range []map[string][]string{{"steps": {"1"}}, {"clip": {"a"}}, {"clip": {"1", "1.0"}}, {"clip": {}}, {"clip": many, "momentum": many}} {
		require.ErrorIs(t, testkit.Err(Grid(values)), ErrSettings)
	}
}

func TestSettingsApply(t *testing.T) {
	base := recipe.Default(recipe.Shape{Kind: dataset.Columns, Records: 1000, Columns: 5, Classes: 2}, "", "", 2)
	require.Equal(t, base, Setting{}.apply(base))
	all, err := ParseSettings([]byte("learning_rate,clip,momentum,weight_decay,ema,model,features,optimizer\n2,3,0.4,0.01,0.9,mlp:8,raw,nesterov\n,,,,,,,adam\n,,,,,,,sgd\n"))
	require.NoError(t, err)
	r := all[0].apply(base)
	want := base
	want.Model, want.Features, want.Train.LearningRate, want.Train.ClipNorm, want.Train.AverageDecay = "mlp:8", "raw", 2, 3, 0.9
	want.Train.Optimizer = optim.Config{Method: "nesterov", Momentum: 0.4, WeightDecay: 0.01}
	require.Equal(t, want, r)
	require.Equal(t, optim.Config{Method: optim.Adam}, all[1].apply(base).Train.Optimizer)
	require.Equal(t, base.Train.Optimizer.Momentum, all[2].apply(base).Train.Optimizer.Momentum)
	require.Len(t, Around(base), 20)
	require.NoError(t, testkit.Err(checked(Around(base))))
}

func FuzzParseSettings(f *testing.F) {
	f.Add([]byte(`[{"clip": 1}]`))
	f.Add([]byte("clip,model\n1,linear\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := ParseSettings(data)
		if err != nil {
			require.ErrorIs(t, err, ErrSettings)
			return
		}
		require.NotEmpty(t, all)
	})
}
