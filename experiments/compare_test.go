package experiments

import (
	"context"
	"encoding/json"
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
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/teachers/training"
	"github.com/pate-go/pate/teachers/votes"
)

// blobs is an easy task: three Gaussian clouds in six dimensions.
func blobs(private, pool, test int) dataset.Task {
	rnd := rand.New(rand.NewPCG(1, 2))
	set := func(name string, n int) dataset.Set {
		s := dataset.Set{Name: "blobs", Classes: []string{"a", "b, c", "d"},
			X: blas32.General{Rows: n, Cols: 6, Stride: 6, Data: make([]float32, 6*n)}}
		for i := range n {
			y := i % 3
			for j := range 6 {
				s.X.Data[6*i+j] = float32(rnd.NormFloat64()*0.5 - 1)
			}
			s.X.Data[6*i+y] += 2
			s.Y = append(s.Y, y)
			s.Units = append(s.Units, fmt.Sprintf("%s/%d", name, i))
		}
		s.IDs = s.Units
		return s
	}
	return dataset.Task{Name: "blobs", Protocol: dataset.Literature, Private: set("private", private), Pool: set("pool", pool),
		Test: set("test", test), Classes: []string{"a", "b, c", "d"}}
}

func config(t *testing.T, dir string) Config {
	t.Helper()
	return Config{Task: blobs(3000, 400, 300), Epsilons: []float64{2}, Delta: 1e-5, Key: aggregate.SeedKey(7), Dir: dir, Workers: 2}
}

// TestStabilityMethodsAreRunWhenNamed: same budget, votes and student; an interrupted
// run repeats its answers.
func TestStabilityMethodsAreRunWhenNamed(t *testing.T) {
	require.Subset(t, allMethods(), Methods())
	stability := []string{MStab, StableSVT, MSvec}
	require.Subset(t, OnRequest(), stability)
	require.Contains(t, OnRequest(), "pate/exponential")
	for _, m := range OnRequest() {
		require.NotContains(t, Methods(), m)
	}
	cfg := config(t, t.TempDir())
	cfg.Epsilons, cfg.Methods = []float64{6}, append(stability, GNMax)
	r, err := Compare(context.Background(), cfg)
	require.NoError(t, err)
	require.Len(t, r.Rows, 4)
	require.Equal(t, GNMax, r.Rows[0].Method)
	for _, row := range r.Rows {
		require.NotNil(t, row.Epsilon)
		require.LessOrEqual(t, *row.Epsilon, 6.0, row.Method)
		require.Equal(t, *row.Epsilon, recompute(t, row, cfg.Delta), row.Method)
		require.NotContains(t, row.Charged[0].Event, "accountant.")
		require.InDelta(t, 1, row.Charged[0].Share, 1e-12, row.Method)
		t.Logf("%s: %d of %d, %.3f right, student %.3f, epsilon %.4f: %s; %s", row.Method, row.Answered, row.Asked, row.LabelAccuracy, row.Accuracy, *row.Epsilon, row.Note, row.Charged[0].Event)
	}
	sparse := r.Rows[2]
	require.Equal(t, StableSVT, sparse.Method)
	require.Positive(t, sparse.Answered)
	again, err := Compare(context.Background(), cfg)
	require.NoError(t, err)
	require.Equal(t, sparse.Accuracy, again.Rows[2].Accuracy)
	require.Equal(t, sparse.Answered, again.Rows[2].Answered)
}

func TestCompareOnBlobs(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Seeds, cfg.Curves = 2, true
	r, err := Compare(context.Background(), cfg)
	require.NoError(t, err)
	require.Equal(t, Schema, r.Schema)
	require.False(t, r.Releasable)
	methods := []string{GNMax, ConfidentGNMax, SampledKNN, ReverseKNN, DPSGD, TrueLabels, NonPrivate, Plurality, Majority}
	require.Len(t, r.Rows, len(methods))
	for i, row := range r.Rows {
		of := 0.0 // every row says what it recalled, and its accuracy is that, weighed
		for y, n := range r.ClassRows {
			of += row.Recall[y] * float64(n) / float64(r.Test)
		}
		require.InDelta(t, row.Accuracy, of, 1e-12, row.Method)
		require.Nil(t, row.AUROC, "of three classes")
		require.Equal(t, methods[i], row.Method)
		if row.Method == Majority {
			require.InDelta(t, 1./3, row.Accuracy, 1e-12)
			continue
		}
		require.Greater(t, row.Accuracy, 0.9, row.Method)
		require.Equal(t, row.Method == NonPrivate, row.SD == nil)
		private := slices.Contains(methods[:5], row.Method)
		require.Equal(t, private, row.Epsilon != nil, row.Method)
		if !private {
			continue
		}
		require.LessOrEqual(t, *row.Epsilon, 2.0)
		require.Greater(t, *row.Epsilon, 1.999, "the budget is there to be used")
		if row.Method == DPSGD { // by privacy loss distributions, which are tighter
			require.Greater(t, recompute(t, row, cfg.Delta), *row.Epsilon)
		} else {
			require.Equal(t, *row.Epsilon, recompute(t, row, cfg.Delta))
		}
		share := 0.0
		for _, c := range row.Charged {
			share += c.Share
		}
		require.InDelta(t, 1, share, 1e-12)
		if slices.Contains(neighbourMethods(), row.Method) {
			continue // of all its labels together
		}
		last := row.Curve[len(row.Curve)-1]
		require.Equal(t, *row.Epsilon, last.Epsilon, "stopping early refunds nothing")
	}
	// Five private methods, two seeds: more than any one, less than the sum.
	require.Greater(t, r.EpsilonAll, 4.0)
	require.Less(t, r.EpsilonAll, 20.0)
	require.Len(t, r.Differences, 10)
	cfg = config(t, t.TempDir())
	cfg.Methods = []string{GNMax, ConfidentGNMax, DPSGD}
	once, err := Compare(context.Background(), cfg)
	require.NoError(t, err)
	require.Greater(t, r.EpsilonAll, 1.2*once.EpsilonAll, "a second seed uses the data again")
}

// Each target is a run and a budget of its own, within it, with questions and noise as the
// run at this target alone would have; an interrupted sweep repeats itself.
// Of two classes every method that has scores says how well they order the test rows.
func TestAreasOfTwoClasses(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Task, cfg.Seeds, cfg.Learner, cfg.Teachers = declaredTask(t, 600, 1), 2, "forest", 20
	cfg.Methods = []string{GNMax, DPSGD, NonPrivate, BoostedTrees, Plurality, Majority}
	r, err := Compare(t.Context(), cfg)
	require.NoError(t, err)
	require.Len(t, r.Rows, len(cfg.Methods))
	for _, row := range r.Rows {
		if row.Method == Majority {
			require.Nil(t, row.AUROC)
			continue
		}
		require.NotNil(t, row.AUROC, row.Method)
		require.Greater(t, *row.AUROC, 0.95, "%s: the order, not its reverse", row.Method)
		require.LessOrEqual(t, *row.AUROC, 1., row.Method)
		require.Equal(t, row.SD == nil, row.AUROCSD == nil, row.Method)
	}
}

func TestASweepIsARunForEachTarget(t *testing.T) {
	targets, dir := []float64{1, 2}, t.TempDir()
	cfg := config(t, dir)
	cfg.Epsilons, cfg.Methods = targets, []string{GNMax, DPSGD, TrueLabels, Majority}
	sweep, err := Compare(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, targets, sweep.EpsilonTargets)
	require.Len(t, sweep.Rows, 7)
	require.Zero(t, sweep.Rows[6].TargetEpsilon)
	for i, e := range targets[1:] {
		i++
		alone := config(t, t.TempDir())
		alone.Epsilons, alone.Methods = []float64{e}, cfg.Methods
		one, err := Compare(t.Context(), alone)
		require.NoError(t, err)
		for j, want := range one.Rows[:3] {
			got := sweep.Rows[3*i+j]
			require.Equal(t, e, got.TargetEpsilon)
			require.Equal(t, want.Method, got.Method)
			require.Equal(t, want.Account, got.Account, "%s at %v", got.Method, e)
			require.Equal(t, want.Answered, got.Answered)
			if got.Epsilon != nil {
				require.LessOrEqual(t, *got.Epsilon, e)
			}
			if got.Method != GNMax { // whose noise follows from all votes
				require.Equal(t, want.Accuracy, got.Accuracy)
			}
		}
	}
	ledgers, err := filepath.Glob(filepath.Join(dir, "ledger", "*.jsonl"))
	require.NoError(t, err)
	require.Len(t, ledgers, 4)
	before := map[string]string{}
	for _, l := range ledgers {
		text, err := os.ReadFile(l)
		require.NoError(t, err)
		before[l] = string(text)
		want := targets[0]
		if strings.Contains(l, "epsilon-2") {
			want = targets[1]
		}
		if strings.Contains(l, "gnmax") {
			require.Contains(t, string(text), fmt.Sprintf(`"epsilon":%v,`, want), l)
		}
	}
	again, err := Compare(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, timeless(sweep), timeless(again))
	for l, text := range before {
		now, err := os.ReadFile(l)
		require.NoError(t, err)
		require.Equal(t, text, string(now), "nothing is charged twice")
	}
}

func TestDifferences(t *testing.T) {
	epsilon := 2.0
	row := func(method string, runs ...float64) Row {
		r := Row{Method: method, TargetEpsilon: 2, Epsilon: &epsilon, StandardError: 0.001, Runs: runs}
		for _, a := range runs {
			r.Accuracy += a / float64(len(runs))
		}
		if len(runs) == 1 {
			r.Runs = nil
		}
		return r
	}
	other := row("elsewhere", 0.5)
	other.TargetEpsilon = 4
	unprotected := row("unprotected", 0.5)
	unprotected.Epsilon = nil
	all := differences([]Row{row("a", 0.90, 0.92, 0.94), row("b", 0.80, 0.82, 0.84), other, unprotected})
	require.Len(t, all, 1)
	d := all[0]
	require.Equal(t, "a", d.Better)
	require.InDelta(t, 0.1, d.Mean, 1e-12)
	require.InDelta(t, 0.1-1.959964*0.001*math.Sqrt2, d.Low, 1e-9, "pairs differ alike: test rows alone")
	d = difference(row("a", 0.80, 0.82, 0.84), row("b", 0.90, 0.92, 0.94))
	require.Equal(t, "b", d.Better)
	// sd of the pairs is 0.03, and Student's t of two degrees of freedom 4.302653.
	d = difference(row("a", 0.90, 0.93, 0.96), row("b", 0.90, 0.90, 0.90))
	require.Empty(t, d.Better)
	require.InDelta(t, math.Hypot(4.302653*0.03/math.Sqrt(3), 1.959964*0.001*math.Sqrt2), d.High-d.Mean, 1e-6)
	require.Empty(t, difference(row("a", 0.900), row("b", 0.902)).Better)
	require.Equal(t, "b", difference(row("a", 0.900), row("b", 0.903)).Better)
}

// TestDPSGDProtectsTheUnit: its guarantee is for a row, so a unit gives one row.
func TestDPSGDProtectsTheUnit(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Methods, cfg.Unit, cfg.Task.Grouped = []string{DPSGD}, "patient", true
	for i := range cfg.Task.Private.Units {
		cfg.Task.Private.Units[i] = fmt.Sprint("patient/", i/5)
	}
	r, err := Compare(context.Background(), cfg)
	require.NoError(t, err)
	require.Equal(t, 600, r.Private, "how many rows a patient has is not told")
	require.Equal(t, 50, r.Teachers, "by units, not by rows")
	require.Contains(t, r.Rows[0].Note, "one row per patient")
}

// TestOtherVotesAreNotFree: a ledger entry stands for one set of answers. When
// the teachers changed behind its back, the run is refused, not answered anew.
func TestOtherVotesAreNotFree(t *testing.T) {
	dir := t.TempDir()
	cfg := config(t, dir)
	cfg.Methods = []string{GNMax}
	_, err := Compare(context.Background(), cfg)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "private", "run-0")))
	cfg.Learner = training.BernoulliNB
	_, err = Compare(context.Background(), cfg)
	require.ErrorContains(t, err, "ledger")
}

// Labels of one class make a student that says nothing else, and its row says so.
func TestLabelsOfOneClass(t *testing.T) {
	for _, one := range []bool{true, false} {
		cfg := config(t, t.TempDir())
		cfg.Task, cfg.Methods, cfg.Teachers, cfg.Epsilons = blobs(600, 60, 30), []string{GNMax}, 20, []float64{15}
		if one {
			clear(cfg.Task.Private.Y)
		}
		r, err := Compare(t.Context(), cfg)
		require.NoError(t, err)
		require.Equal(t, one, strings.Contains(r.Rows[0].Note, "every label is of one class"), r.Rows[0].Note)
	}
}

func TestAllDeclined(t *testing.T) {
	require.False(t, (&Result{Rows: []Row{{Method: DPSGD}}}).AllDeclined())
	require.False(t, (&Result{Rows: []Row{{Asked: 5, Answered: 1}, {Asked: 5}}}).AllDeclined())
	require.True(t, (&Result{Rows: []Row{{Asked: 5}, {Asked: 7}, {Method: DPSGD}}}).AllDeclined())
}

// recompute goes the auditor's way: JSON, then the accountant alone.
func recompute(t *testing.T, row Row, delta float64) float64 {
	t.Helper()
	data, err := json.Marshal(row.Account)
	require.NoError(t, err)
	schedule, err := accountant.ParseSchedule(data)
	require.NoError(t, err)
	method := row.Accountant
	if method == "" {
		method = accountant.ByRDP
	}
	claim, err := accountant.Tightest(t.Context(), method, schedule.Relation, delta, schedule.Events...)
	require.NoError(t, err)
	return claim.Upper
}

// timeless drops what may differ between two runs of one key.
func timeless(r *Result) *Result {
	r.Seconds = 0
	for i := range r.Rows {
		r.Rows[i].Seconds = 0
	}
	return r
}

func TestAnInterruptedRunGoesOnAndRepeatsItself(t *testing.T) {
	few := func(dir string) Config { // questions to teachers and to neighbours, and training
		cfg := config(t, dir)
		cfg.Methods = []string{GNMax, ReverseKNN, DPSGD}
		return cfg
	}
	whole, err := Compare(context.Background(), few(t.TempDir()))
	require.NoError(t, err)

	dir := t.TempDir()
	for _, stop := range []struct {
		stage string
		at    int
	}{{"dpsgd: ε 2", 40}, {"teachers", 17}} {
		ctx, cancel := context.WithCancel(context.Background())
		cfg := few(dir)
		cfg.Progress = func(p Progress) {
			if p.Stage == stop.stage && p.Done == stop.at {
				cancel()
			}
		}
		_, err := Compare(ctx, cfg)
		require.ErrorIs(t, err, context.Canceled)
		noHalfWrittenFiles(t, dir)
		cancel()
	}
	trained, err := filepath.Glob(filepath.Join(dir, "private", "run-0", "teachers", "*"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(trained), 17)
	before := modTimes(t, trained)
	again, err := Compare(context.Background(), few(dir))
	require.NoError(t, err)
	require.Equal(t, timeless(whole), timeless(again))
	require.Equal(t, before, modTimes(t, trained), "a teacher was trained twice")
}

func modTimes(t *testing.T, paths []string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for _, p := range paths {
		info, err := os.Stat(p)
		require.NoError(t, err)
		out[p] = info.ModTime().UnixNano()
	}
	return out
}

func noHalfWrittenFiles(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		require.NotContains(t, path, ".tmp")
		return err
	}))
}

func TestAChargeIsWrittenBeforeLabelsAndOnlyOnce(t *testing.T) {
	dir := t.TempDir()
	cfg := config(t, dir)
	cfg.Methods = []string{ConfidentGNMax}
	_, err := Compare(context.Background(), cfg)
	require.NoError(t, err)
	path := filepath.Join(dir, "ledger", "pate-confident-gnmax-0.jsonl")
	first, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(string(first), "\n"), "header, charge, seal, commit:\n%s", first)
	labels, err := os.ReadFile(filepath.Join(dir, "seeded-labels-pate-confident-gnmax-0.csv"))
	require.NoError(t, err)
	require.Contains(t, string(labels), `,"b, c"`)

	_, err = Compare(context.Background(), cfg)
	require.NoError(t, err)
	second, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
}

func TestSecretsAreReadableByTheOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	cfg := config(t, dir)
	cfg.Methods = []string{GNMax}
	_, err := Compare(context.Background(), cfg)
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "private"), func(path string, d os.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, path)
		return nil
	}))
}

func TestEveryLearnerWorks(t *testing.T) {
	for _, learner := range Learners() {
		t.Run(learner, func(t *testing.T) {
			cfg := config(t, t.TempDir())
			cfg.Learner, cfg.Methods, cfg.Teachers = learner, []string{Plurality}, 20
			r, err := Compare(context.Background(), cfg)
			if learner == KNN && err != nil {
				require.ErrorContains(t, err, "cgo")
				return
			}
			require.NoError(t, err)
			require.Greater(t, r.Rows[0].Accuracy, 0.8)
		})
	}
}

func TestCompareRefusesBadConfigs(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"epsilon 0":    {func(c *Config) { c.Epsilons = []float64{0} }, "epsilon"},
		"epsilon NaN":  {func(c *Config) { c.Epsilons = []float64{1, math.NaN()} }, "epsilon"},
		"epsilon inf":  {func(c *Config) { c.Epsilons = []float64{math.Inf(1)} }, "epsilon"},
		"no epsilon":   {func(c *Config) { c.Epsilons = nil }, "no epsilon"},
		"twice":        {func(c *Config) { c.Epsilons = []float64{2, 1, 2} }, "twice"},
		"delta 1/n":    {func(c *Config) { c.Delta = 1.0 / 3000 }, "one over the number"},
		"delta NaN":    {func(c *Config) { c.Delta = math.NaN() }, "delta"},
		"no key":       {func(c *Config) { c.Key = aggregate.Key{} }, "Key"},
		"no folder":    {func(c *Config) { c.Dir = "" }, "Dir"},
		"seeds":        {func(c *Config) { c.Seeds = -1 }, "seeds"},
		"teachers":     {func(c *Config) { c.Teachers = 3001 }, "teachers"},
		"method":       {func(c *Config) { c.Methods = []string{"magic"} }, `"magic"`},
		"learner":      {func(c *Config) { c.Learner = "magic" }, `"magic"`},
		"features":     {func(c *Config) { c.Features = "magic" }, `"magic"`},
		"hog of table": {func(c *Config) { c.Features = features.NameHOG }, "not images"},
		"no records":   {func(c *Config) { c.Task.Private = dataset.Set{} }, "no private records"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t, t.TempDir())
			c.change(&cfg)
			_, err := Compare(context.Background(), cfg)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// asked is a session that answers nothing.
type asked struct{}

func (asked) Ask(uint64, aggregate.Histogram) (aggregate.Answer, error) {
	return aggregate.Answer{}, nil
}
func (asked) AskBatch(uint64, []aggregate.Histogram) ([]aggregate.Answer, error) { return nil, nil }

func (asked) Releasable() bool { return false }

// keyed is a mechanism that tells the key of its session.
type keyed struct{ key *aggregate.Key }

func (m keyed) Event() accountant.Event { return accountant.GNMax{Sigma: 100, Discrete: true} }

func (m keyed) Law(aggregate.Histogram) (aggregate.Law, error) { return aggregate.Law{}, nil }

func (m keyed) Start(_ *ledger.Reservation, key aggregate.Key) (aggregate.Session, error) {
	*m.key = key
	return asked{}, nil
}

// Noise is that of the votes: were it the same for two vote matrices under one key, the
// difference of two answers would be that of the counts, without noise.
func TestOtherVotesHaveOtherNoise(t *testing.T) {
	keyOf := func(vote, seed int, epsilon float64) aggregate.Key {
		cfg, err := config(t, t.TempDir()).withDefaults()
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(cfg.Dir, "ledger"), 0o700))
		m, err := votes.New(1, 3, 3)
		require.NoError(t, err)
		for teacher, label := range []int{0, 1, vote} {
			m.Set(0, teacher, label)
		}
		var key aggregate.Key
		v := votingPlan{Mechanism: keyed{&key}}
		at := point{Config: cfg, epsilon: epsilon}
		_, err = at.release(t.Context(), v, poll{queries: []int{0}, rows: []int{0}, ensemble: &ensemble{votes: m}}, GNMax, seed)
		require.NoError(t, err)
		return key
	}
	require.Equal(t, keyOf(1, 0, 2), keyOf(1, 0, 2))
	require.NotEqual(t, keyOf(1, 0, 2), keyOf(2, 0, 2))
	require.NotEqual(t, keyOf(1, 0, 2), keyOf(1, 1, 2))
	require.NotEqual(t, keyOf(1, 0, 2), keyOf(1, 0, 4), "two budgets, one mechanism")
}
