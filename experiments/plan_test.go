package experiments

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers"
)

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
	require.Equal(t, "b", difference(row("a", 0.80, 0.82, 0.84), row("b", 0.90, 0.92, 0.94)).Better)
	// sd of the pairs is 0.03, and Student's t of two degrees of freedom 4.302653.
	d = difference(row("a", 0.90, 0.93, 0.96), row("b", 0.90, 0.90, 0.90))
	require.Empty(t, d.Better)
	require.InDelta(t, math.Hypot(4.302653*0.03/math.Sqrt(3), 1.959964*0.001*math.Sqrt2), d.High-d.Mean, 1e-6)
	require.Empty(t, difference(row("a", 0.900), row("b", 0.902)).Better)
	require.Equal(t, "b", difference(row("a", 0.900), row("b", 0.903)).Better)
}

// Every method that is asked for has a step, every target and seed costs, and no more than the shape of the
// task is looked at.
func TestOutline(t *testing.T) {
	outline := func(change func(*Config)) Outline {
		cfg := config(t, "")
		cfg.Task.Encoder = &dataset.Encoder{}
		change(&cfg)
		o := testkit.Must(cfg.Outline(t.Context()))
		sum := 0.0
		for _, s := range o.Steps {
			require.Positive(t, s.Seconds, s.What)
			require.LessOrEqual(t, s.Bytes, o.Bytes, s.What)
			sum += s.Seconds
		}
		require.InDelta(t, sum, o.Seconds, 1e-12)
		return o
	}
	once := outline(func(*Config) {})
	require.Len(t, once.Steps, 7)
	require.Equal(t, 3, once.Steps[6].Times, "students of two mechanisms, and of true labels")
	sweep := outline(func(c *Config) { c.Epsilons = []float64{1, 2, 4} })
	require.Len(t, sweep.Steps, 13)
	require.Equal(t, 9, sweep.Steps[12].Times)
	require.Greater(t, sweep.Seconds, 1.5*once.Seconds)
	require.Less(t, sweep.Seconds, 3*once.Seconds, "teachers are trained once")
	ensemble := func(change func(*Config)) Outline { // what is calibrated for neighbours takes most of an outline's time
		return outline(func(c *Config) {
			c.Methods = []string{GNMax, TrueLabels}
			change(c)
		})
	}
	voted := ensemble(func(*Config) {})
	require.InEpsilon(t, 3*voted.Seconds, ensemble(func(c *Config) { c.Seeds = 3 }).Seconds, 1e-9)
	require.InEpsilon(t, voted.Seconds/4, ensemble(func(c *Config) { c.Workers = 8 }).Seconds, 1e-9)
	require.Len(t, outline(func(c *Config) { c.Methods = []string{DPSGD} }).Steps, 1)
	other := outline(func(c *Config) {
		for i := range c.Task.Private.X.Data {
			c.Task.Private.X.Data[i] = float32(i)
		}
	})
	require.Equal(t, once, other)
	require.ErrorIs(t, testkit.Err(Config{}.Outline(t.Context())), ErrConfig)
}

// noisyRows are rows of two classes in many columns, of which a share of labels is wrong.
func noisyRows(rnd *rand.Rand, rows, columns int, wrong float64) (data teachers.Dataset, units []string) {
	data = teachers.Dataset{X: dense.New(rows, columns), Y: make([]int, rows), Classes: 2}
	for i := range rows {
		y := i % 2
		for j := range columns {
			dense.Row(data.X, i)[j] = float32(rnd.NormFloat64() + float64(2*y-1)*2.4/math.Sqrt(float64(columns)))
		}
		if data.Y[i] = y; rnd.Float64() < wrong {
			data.Y[i] = 1 - y
		}
		units = append(units, strconv.Itoa(i))
	}
	return data, units
}

// Where the smallest penalty learns wrong labels by heart a larger one is taken, and no other where nothing
// is gained beyond chance.
func TestPenalty(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	data, units := noisyRows(rnd, 2000, 600, 0.15)
	test, _ := noisyRows(rnd, 2000, 600, 0)
	of := func(l teachers.Learner) float64 {
		m := testkit.Must(l.Fit(t.Context(), data, rand.New(rand.NewPCG(2, 2))))
		predicted := make([]int, test.X.Rows)
		require.NoError(t, m.Predict(predicted, test.X))
		return scores.Accuracy(predicted, test.Y)
	}
	smallest, chosen := of(softmaxOf(1, data)), of(penalised{units})
	t.Logf("%.3f, %.3f", smallest, chosen)
	require.Greater(t, chosen, smallest+0.05)
	few, units := noisyRows(rnd, 2000, 3, 0)
	require.Equal(t, 1., testkit.Must(penalised{units}.choose(t.Context(), few, rnd)))
	one := make([]string, few.X.Rows) // all rows are of one unit: there is nothing to choose on
	require.Equal(t, 1., testkit.Must(penalised{one}.choose(t.Context(), few, rnd)))
	learn, held := penalised{units}.halves(few, rnd)
	require.Equal(t, few.X.Rows, learn.X.Rows+held.X.Rows)
	require.InDelta(t, 400, held.X.Rows, 90)
}

// bars is a task of images: a bar that lies, stands or leans, somewhere in noise.
func bars(private, pool, test int) dataset.Task {
	const side = 20
	rnd := rand.New(rand.NewPCG(3, 4))
	shape, classes := dataset.Shape{Rows: side, Cols: side}, []string{"lies", "stands", "leans"}
	set := func(name string, n int) dataset.Set {
		s := dataset.Set{Name: "bars", Classes: classes, Image: shape, X: dense.New(n, side*side)}
		for i := range n {
			img, y, at := dense.Row(s.X, i), i%3, 5+rnd.IntN(10)
			for p := range img {
				img[p] = 0.3 * rnd.Float32()
			}
			for k := 4; k < 16; k++ {
				img[[]int{at*side + k, k*side + at, k*side + (k+at)%side}[y]] = 1
			}
			s.Y, s.Units = append(s.Y, y), append(s.Units, fmt.Sprintf("%s/%d", name, i))
		}
		s.IDs = s.Units
		return s
	}
	return dataset.Task{Name: "bars", Protocol: dataset.Literature, Kind: dataset.Pictures, Image: shape, Classes: classes,
		Private: set("private", private), Pool: set("pool", pool), Test: set("test", test)}
}

// TestVotesOfProjections: features of images are projected on directions of the pool before they vote, the
// same by any number of workers, and what votes still knows the classes.
func TestVotesOfProjections(t *testing.T) {
	cfg := Config{Task: bars(1300, 100, 90), Epsilons: []float64{4}, Delta: 1e-5, Key: rng.SeedKey(7), Dir: t.TempDir(), Workers: 1,
		Teachers: 20, Methods: []string{GNMax, ReverseKNN, Plurality}}
	c := testkit.Must(cfg.withDefaults())
	require.Equal(t, 1024, c.dimensions())
	p := testkit.Must(prepare(t.Context(), c, c.points))
	require.Equal(t, 99, p.private.Cols, "one less than rows of the pool")
	require.Equal(t, 1024, p.pool.Cols, "of students")
	c.Workers = 3
	again := testkit.Must(prepare(t.Context(), c, c.points))
	require.Equal(t, p.private, again.private)
	require.Equal(t, p.asked, again.asked)
	e := testkit.Must(features.Named(c.Features, c.Task.Image))
	of := testkit.Must(c.projected(t.Context(), p.public, c.Task.Pool, e))
	require.Equal(t, p.asked, of, "private rows become what those of the pool do")
	for _, row := range testkit.Must(Compare(t.Context(), cfg)).Rows {
		require.Greater(t, row.Accuracy, 0.9, row.Method)
	}

	c.Learner = Learners()[1]
	require.False(t, c.projects(), "of other learners nothing is known")
}

func TestMajority(t *testing.T) {
	require.Equal(t, 1, majority([]int{2, 1, 1, 0, 2}, 3), "of equals the first")
}

// Neighbours label without teachers, within the budget, for what the ledger says; the same run repeats
// itself and is charged once.
func TestNeighboursLabelWithoutTeachers(t *testing.T) {
	dir := t.TempDir()
	cfg := config(t, dir)
	cfg.Task, cfg.Methods, cfg.Epsilons = blobs(900, 90, 100), neighbourMethods(), []float64{1, 2}
	r := testkit.Must(Compare(t.Context(), cfg))
	require.Len(t, r.Rows, 4)
	require.Nil(t, r.Diagnostics)
	files := map[string]string{}
	for i, row := range r.Rows {
		require.Equal(t, neighbourMethods()[i%2], row.Method)
		require.Greater(t, row.Accuracy, 0.85, row.Method)
		require.LessOrEqual(t, *row.Epsilon, row.TargetEpsilon)
		require.Greater(t, *row.Epsilon, 0.995*row.TargetEpsilon, "the budget is there to be used")
		require.Equal(t, *row.Epsilon, recompute(t, row, cfg.Delta))
		require.Equal(t, accountant.AddRemove, row.Account.Relation)
		name := FileName(row.Method, row.TargetEpsilon, true) + "-0"
		for _, file := range []string{"private/ledger/" + name + ".jsonl", "private/results/seeded-labels-" + name + ".csv"} {
			files[file] = string(testkit.Must(os.ReadFile(filepath.Join(dir, file))))
		}
		labels := files["private/results/seeded-labels-"+name+".csv"]
		require.Equal(t, row.Asked+1, strings.Count(labels, "\n"))
		require.Equal(t, row.Method == ReverseKNN, strings.HasPrefix(labels, `query,label,votes a,"votes b, c",votes d`+"\n"))
	}
	_, err := os.Stat(filepath.Join(dir, "private", "run-0"))
	require.ErrorIs(t, err, os.ErrNotExist, "no teachers, no votes of them")
	require.Equal(t, timeless(r), timeless(testkit.Must(Compare(t.Context(), cfg))))
	for file, before := range files {
		require.Equal(t, before, string(testkit.Must(os.ReadFile(filepath.Join(dir, file)))), file)
	}
	cfg.Task.Private.Y[0] = 1 - cfg.Task.Private.Y[0] // other data: another run
	require.Error(t, testkit.Err(Compare(t.Context(), cfg)))
}

// Parameters follow from public numbers: a row that goes or changes moves none of them while the number of
// units stays.
func TestNeighbourPlansArePublic(t *testing.T) {
	var plans []neighbourPlan
	for _, rows := range []int{300, 600} {
		cfg := config(t, t.TempDir())
		cfg.Task = blobs(rows, 200, 50)
		if rows == 600 { // two rows for each unit
			for i := range cfg.Task.Private.Units {
				cfg.Task.Private.Units[i] = cfg.Task.Private.Units[i%300]
			}
			cfg.Task.Grouped = true
		}
		c := testkit.Must(cfg.withDefaults())
		for _, m := range neighbourMethods() {
			plans = append(plans, testkit.Must(point{Config: c, epsilon: 2}.neighbourPlan(t.Context(), m)))
		}
	}
	require.Equal(t, plans[:2], plans[2:])
}
