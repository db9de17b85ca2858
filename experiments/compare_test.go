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
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

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
	return Config{Task: blobs(3000, 400, 300), Epsilons: []float64{2}, Delta: 1e-5, Key: rng.SeedKey(7), Dir: dir, Workers: 2}
}

// TestStabilityMethodsAreRunWhenNamed: same budget, votes and student; an interrupted run repeats its
// answers.
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
	r := testkit.Must(Compare(context.Background(), cfg))
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
	cfg.Methods = []string{StableSVT}
	again := testkit.Must(Compare(context.Background(), cfg))
	require.Equal(t, sparse.Accuracy, again.Rows[0].Accuracy)
	require.Equal(t, sparse.Answered, again.Rows[0].Answered)
}

func TestCompareOnBlobs(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Seeds, cfg.Curves = 2, true
	r := testkit.Must(Compare(context.Background(), cfg))
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
	var once accountant.Composed
	for _, row := range r.Rows[:5] {
		once.Events = append(once.Events, row.Account.Events...)
	}
	require.Greater(t, r.EpsilonAll, 1.2*testkit.Must(epsilonOf(once, cfg.Delta)).Upper, "a second seed uses the data again")
}

// TestManyTestRowsAreSampled: the part is fixed, and no other part of the task changes.
func TestManyTestRowsAreSampled(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Task, cfg.Methods = blobs(300, 40, mostTested), []string{Majority}
	full := testkit.Must(cfg.withDefaults())
	require.Equal(t, cfg.Task.Hash(), full.Task.Hash())
	require.Zero(t, testkit.Must(Compare(context.Background(), cfg)).TestOf)

	cfg.Task = blobs(300, 40, 3*mostTested)
	r := testkit.Must(Compare(context.Background(), cfg))
	require.Equal(t, 3*mostTested, r.TestOf)
	require.InDelta(t, mostTested, r.Test, 5*math.Sqrt(mostTested*2/3))
	cfg.Key, cfg.Dir = rng.SeedKey(8), t.TempDir()
	require.Equal(t, r.ClassRows, testkit.Must(Compare(context.Background(), cfg)).ClassRows)

	for i := range cfg.Task.Test.Units {
		cfg.Task.Test.Units[i] = "one"
	}
	require.Zero(t, testkit.Must(Compare(context.Background(), cfg)).TestOf, "not a sample of few units")
}

// TestAreasOfTwoClasses: with two classes, every method that has scores has the area under their ROC curve.
func TestAreasOfTwoClasses(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Task, cfg.Seeds, cfg.Learner, cfg.Teachers = declaredTask(t, 600, 1), 2, "forest", 20
	cfg.Methods = []string{GNMax, DPSGD, NonPrivate, BoostedTrees, Plurality, Majority}
	r := testkit.Must(Compare(t.Context(), cfg))
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

// TestASweepIsARunForEachTarget: each target is a run within a budget of its own, with the questions and the
// noise of a run at this target alone. An interrupted sweep repeats itself.
func TestASweepIsARunForEachTarget(t *testing.T) {
	targets, dir := []float64{1, 2}, t.TempDir()
	cfg := config(t, dir)
	cfg.Epsilons, cfg.Methods = targets, []string{GNMax, DPSGD, TrueLabels, Majority}
	sweep := testkit.Must(Compare(t.Context(), cfg))
	require.Equal(t, targets, sweep.EpsilonTargets)
	require.Len(t, sweep.Rows, 7)
	require.Zero(t, sweep.Rows[6].TargetEpsilon)
	for i, e := range targets[1:] {
		i++
		alone := config(t, t.TempDir())
		alone.Epsilons, alone.Methods = []float64{e}, cfg.Methods
		for j, want := range testkit.Must(Compare(t.Context(), alone)).Rows[:3] {
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
	ledgers := testkit.Must(filepath.Glob(filepath.Join(dir, "private", "ledger", "*.jsonl")))
	require.Len(t, ledgers, 4)
	before := map[string]string{}
	for _, l := range ledgers {
		text := testkit.Must(os.ReadFile(l))
		before[l] = string(text)
		want := targets[0]
		if strings.Contains(l, "epsilon-2") {
			want = targets[1]
		}
		if strings.Contains(l, "gnmax") {
			require.Contains(t, string(text), fmt.Sprintf(`"epsilon":%v,`, want), l)
		}
	}
	require.Equal(t, timeless(sweep), timeless(testkit.Must(Compare(t.Context(), cfg))))
	for l, text := range before {
		require.Equal(t, text, string(testkit.Must(os.ReadFile(l))), "nothing is charged twice")
	}
}

func TestDPSGDProtectsTheUnit(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Methods, cfg.Unit, cfg.Task.Grouped = []string{DPSGD}, "patient", true
	for i := range cfg.Task.Private.Units {
		cfg.Task.Private.Units[i] = fmt.Sprint("patient/", i/5)
	}
	r := testkit.Must(Compare(context.Background(), cfg))
	require.Equal(t, 600, r.Private, "how many rows a patient has is not told")
	require.Equal(t, 50, r.Teachers, "by units, not by rows")
	require.Contains(t, r.Rows[0].Note, "one row per patient")
}

func TestLabelsOfOneClass(t *testing.T) {
	for _, one := range []bool{true, false} {
		cfg := config(t, t.TempDir())
		cfg.Task, cfg.Methods, cfg.Teachers, cfg.Epsilons = blobs(600, 60, 30), []string{GNMax}, 20, []float64{15}
		if one {
			clear(cfg.Task.Private.Y)
		}
		r := testkit.Must(Compare(t.Context(), cfg))
		require.Equal(t, one, strings.Contains(r.Rows[0].Note, "every label is of one class"), r.Rows[0].Note)
	}
}

func TestAllDeclined(t *testing.T) {
	require.False(t, (&Result{Rows: []Row{{Method: DPSGD}}}).AllDeclined())
	require.False(t, (&Result{Rows: []Row{{Asked: 5, Answered: 1}, {Asked: 5}}}).AllDeclined())
	require.True(t, (&Result{Rows: []Row{{Asked: 5}, {Asked: 7}, {Method: DPSGD}}}).AllDeclined())
}

func recompute(t *testing.T, row Row, delta float64) float64 {
	schedule := testkit.Must(accountant.ParseSchedule(testkit.Must(json.Marshal(row.Account))))
	method := row.Accountant
	if method == "" {
		method = accountant.ByRDP
	}
	return testkit.Must(accountant.Epsilon(t.Context(), method, schedule.Relation, delta, schedule.Events...)).Upper
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
		"delta 1/n":    {func(c *Config) { c.Delta = 1.0 / 3000 }, "is the number of"},
		"delta NaN":    {func(c *Config) { c.Delta = math.NaN() }, "delta"},
		"no key":       {func(c *Config) { c.Key = rng.Key{} }, "Key"},
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
			require.ErrorContains(t, testkit.Err(Compare(context.Background(), cfg)), c.want)
		})
	}
}

func TestDifferences(t *testing.T) {
	epsilon := 2.0
	c := Config{Task: dataset.Task{Classes: []string{"no", "yes"}, Test: dataset.Set{Y: make([]int, 100)}}}
	row := func(method string, wrong int) Row {
		predicted := make([]int, 100)
		for i := range wrong {
			predicted[i] = 1
		}
		return Row{Method: method, TargetEpsilon: 2, Epsilon: &epsilon, predicted: [][]int{predicted, predicted}}
	}
	other := row("elsewhere", 50)
	other.TargetEpsilon = 4
	unprotected := row("unprotected", 50)
	unprotected.Epsilon = nil
	all := c.differences([]Row{row("a", 5), row("b", 25), other, unprotected})
	require.Len(t, all, 1)
	require.Equal(t, "a", all[0].Better)
	require.InDelta(t, 0.2, all[0].Mean, 1e-12)
	require.True(t, all[0].Differs())
	require.Equal(t, "b", c.differences([]Row{row("a", 25), row("b", 5)})[0].Better)
	require.Empty(t, c.differences([]Row{row("a", 5), row("b", 8)})[0].Better)
}

// TestRowsStandBesideAConstant: every row has the accuracy of the most frequent class of the test rows, and the
// method that names one class only is marked.
func TestRowsStandBesideAConstant(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Methods = []string{GNMax, DPSGD, Majority}
	r := testkit.Must(Compare(t.Context(), cfg))
	most := 0.0
	for _, n := range r.ClassRows {
		most = max(most, float64(n)/float64(r.Test))
	}
	for _, row := range r.Rows {
		require.Equal(t, most, row.ConstantAccuracy, row.Method)
		require.Equal(t, row.Method == Majority, row.OneClass(), row.Method)
		require.InDelta(t, scores.Balanced(row.Recall, r.ClassRows), row.BalancedAccuracy, 0)
	}
	before := r.Differences
	require.Len(t, before, 1)
	r = testkit.Must(Compare(t.Context(), cfg))
	require.Equal(t, before, r.Differences, "a resumed run loads the predictions of DP-SGD")
}
