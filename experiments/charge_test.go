package experiments

import (
	"context"
	"encoding/csv"
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
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/aggregate/nearby"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/votes"
)

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
	whole := testkit.Must(Compare(context.Background(), few(t.TempDir())))

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
		require.ErrorIs(t, testkit.Err(Compare(ctx, cfg)), context.Canceled)
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			require.NotContains(t, path, ".tmp")
			return err
		}))
		cancel()
	}
	trained := testkit.Must(filepath.Glob(filepath.Join(dir, "private", "run-0", "teachers", "*")))
	require.GreaterOrEqual(t, len(trained), 17)
	before := modTimes(t, trained)
	require.Equal(t, timeless(whole), timeless(testkit.Must(Compare(context.Background(), few(dir)))))
	require.Equal(t, before, modTimes(t, trained), "a teacher was trained twice")
}

func modTimes(t *testing.T, paths []string) map[string]int64 {
	out := map[string]int64{}
	for _, p := range paths {
		out[p] = testkit.Must(os.Stat(p)).ModTime().UnixNano()
	}
	return out
}

func TestAChargeIsWrittenBeforeLabelsAndOnlyOnce(t *testing.T) {
	dir := t.TempDir()
	cfg := config(t, dir)
	cfg.Methods = []string{ConfidentGNMax}
	testkit.Must(Compare(context.Background(), cfg))
	path := filepath.Join(dir, "private", "ledger", "pate-confident-gnmax-0.jsonl")
	first := testkit.Must(os.ReadFile(path))
	require.Equal(t, 4, strings.Count(string(first), "\n"), "header, charge, seal, commit:\n%s", first)
	labels := testkit.Must(os.ReadFile(filepath.Join(dir, "private", "results", "seeded-labels-pate-confident-gnmax-0.csv")))
	require.Contains(t, string(labels), `,"b, c"`)

	testkit.Must(Compare(context.Background(), cfg))
	require.Equal(t, string(first), string(testkit.Must(os.ReadFile(path))))
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "private"), func(path string, d os.DirEntry, err error) error {
		require.NoError(t, err)
		require.Zero(t, testkit.Must(d.Info()).Mode().Perm()&0o077, path)
		return nil
	}))

	// An entry stands for one set of answers: when the teachers changed behind its back, the run is refused.
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "private", "run-0")))
	cfg.Learner = training.BernoulliNB
	require.ErrorContains(t, testkit.Err(Compare(context.Background(), cfg)), "ledger")
}

type asked struct{}

func (asked) Ask(uint64, aggregate.Histogram) (aggregate.Answer, error) {
	return aggregate.Answer{}, nil
}

func (asked) AskBatch(uint64, []aggregate.Histogram) ([]aggregate.Answer, error) { return nil, nil }

func (asked) Releasable() bool { return false }

type keyed struct{ key *rng.Key }

func (m keyed) Event() accountant.Event { return accountant.GNMax{Sigma: 100, Discrete: true} }

func (m keyed) Law(aggregate.Histogram) (aggregate.Law, error) { return aggregate.Law{}, nil }

func (m keyed) Start(_ *ledger.Reservation, key rng.Key) (aggregate.Session, error) {
	*m.key = key
	return asked{}, nil
}

// Noise is that of the votes: were it the same for two vote matrices under one key, the difference of two
// answers would be that of the counts, without noise.
func TestOtherVotesHaveOtherNoise(t *testing.T) {
	keyOf := func(vote, seed int, epsilon float64) rng.Key {
		cfg := testkit.Must(config(t, t.TempDir()).withDefaults())
		require.NoError(t, os.MkdirAll(filepath.Join(cfg.Dir, "private", "ledger"), 0o700))
		m := testkit.Must(votes.New(1, 3, 3))
		for teacher, label := range []int{0, 1, vote} {
			m.Set(0, teacher, label)
		}
		var key rng.Key
		v := votingPlan{Mechanism: keyed{&key}}
		at := point{Config: cfg, epsilon: epsilon}
		testkit.Must(at.release(t.Context(), v, poll{queries: []int{0}, rows: []int{0}, ensemble: &ensemble{votes: m}}, GNMax, seed))
		return key
	}
	require.Equal(t, keyOf(1, 0, 2), keyOf(1, 0, 2))
	require.NotEqual(t, keyOf(1, 0, 2), keyOf(2, 0, 2))
	require.NotEqual(t, keyOf(1, 0, 2), keyOf(1, 1, 2))
	require.NotEqual(t, keyOf(1, 0, 2), keyOf(1, 0, 4), "two budgets, one mechanism")
}

// declaredTask is a table without public rows: so many units of some rows each, whose class is where they
// lie in two columns.
func declaredTask(t *testing.T, units, rowsOfUnit int) dataset.Task {
	t.Helper()
	dir := t.TempDir()
	rnd := rand.New(rand.NewPCG(6, 6))
	text := "x,y,colour,who,class\n"
	for u := range units {
		for range rowsOfUnit {
			class := u % 2
			text += fmt.Sprintf("%.3f,%.3f,%s,%d,%c\n", 2*float64(class)+rnd.NormFloat64()/2, rnd.NormFloat64()-2*float64(class), []string{"red", "blue"}[rnd.IntN(2)], u, 'a'+class)
		}
	}
	data, file := filepath.Join(dir, "t.csv"), filepath.Join(dir, "ranges.csv")
	require.NoError(t, os.WriteFile(data, []byte(text), 0o600))
	require.NoError(t, os.WriteFile(file, []byte("x,-3.0..5.0\ny,-6.0..4.0\ncolour,red,blue\n"), 0o600))
	ranges := testkit.Must(dataset.ReadRanges(file))
	d := testkit.Must(dataset.Open(data, dataset.Options{Ranges: ranges, CSV: dataset.CSVOptions{Label: "class", Unit: "who"}}))
	return testkit.Must(d.Task(dataset.Literature))
}

// Drawn pools: every method pays for the marginals in its own ledger, before it asks and within its budget;
// a unit of several rows is counted once; the same run repeats itself.
func TestDrawnPoolIsPaidFor(t *testing.T) {
	dir := t.TempDir()
	cfg := config(t, dir)
	cfg.Task, cfg.Methods, cfg.Epsilons, cfg.Pool = declaredTask(t, 1200, 3), []string{GNMax, ReverseKNN}, []float64{2, 4}, PoolMarginals
	cfg.Learner, cfg.Teachers = "forest", 40
	r := testkit.Must(Compare(t.Context(), cfg))
	require.Equal(t, PoolMarginals, r.PoolOf)
	require.Len(t, r.Rows, 4)
	files := map[string]string{}
	read := func(file string) string {
		text := testkit.Must(os.ReadFile(filepath.Join(dir, file)))
		if before, there := files[file]; there {
			require.Equal(t, before, string(text), file)
		}
		files[file] = string(text)
		return string(text)
	}
	all := func() {
		for _, row := range r.Rows {
			name := FileName(row.Method, row.TargetEpsilon, true) + "-0"
			require.Equal(t, 2, strings.Count(read("private/ledger/"+name+".jsonl"), `"reserve"`), name)
			require.Contains(t, read("private/results/seeded-labels-"+name+".csv"), "asked x,asked y,asked colour\n")
			require.Equal(t, read("private/results/seeded-marginals-"+FileName(GNMax, row.TargetEpsilon, true)+"-0.csv"), read("private/results/seeded-marginals-"+name+".csv"), "one noise, which each method pays for")
		}
	}
	all()
	for _, row := range r.Rows {
		require.Greater(t, row.Accuracy, 0.7, row.Method)
		require.Zero(t, row.LabelAccuracy, "nobody knows the labels")
		require.LessOrEqual(t, *row.Epsilon, row.TargetEpsilon)
		require.Greater(t, *row.Epsilon, 0.99*row.TargetEpsilon, "the budget is there to be used")
		require.Equal(t, *row.Epsilon, recompute(t, row, cfg.Delta))
		paid, ok := row.Account.Events[0].(accountant.Repeated)
		require.True(t, ok)
		require.Equal(t, int64(3), paid.Count, "columns")
		require.InDelta(t, 0.1, row.Charged[0].Share, 0.02)
		require.Len(t, row.Charged, 2)
	}
	counts := testkit.Must(csv.NewReader(strings.NewReader(files["private/results/seeded-marginals-pate-gnmax-epsilon-4-0.csv"])).ReadAll())
	reds := 0
	for _, line := range counts {
		if line[0] == "colour" {
			reds += testkit.Must(strconv.Atoi(line[2]))
		}
	}
	require.InDelta(t, cfg.Task.Private.UnitCount(), reds, 150, "units, not their rows")
	require.Equal(t, timeless(r), timeless(testkit.Must(Compare(t.Context(), cfg))))
	all()
	cfg.Task.Private.Y[0] = 1 - cfg.Task.Private.Y[0] // other data: another run
	require.Error(t, testkit.Err(Compare(t.Context(), cfg)))
}

func TestDrawnTreeIsPaidFor(t *testing.T) {
	dir := t.TempDir()
	cfg := config(t, dir)
	cfg.Task, cfg.Methods, cfg.Epsilons, cfg.Pool = declaredTask(t, 1200, 3), []string{ReverseKNN, SampledKNN}, []float64{3}, PoolTree
	r := testkit.Must(Compare(t.Context(), cfg))
	require.Equal(t, PoolTree, r.PoolOf)
	for _, row := range r.Rows {
		name := FileName(row.Method, 3, false) + "-0"
		require.Equal(t, 4, strings.Count(string(testkit.Must(os.ReadFile(filepath.Join(dir, "private/ledger", name+".jsonl")))), `"reserve"`), name)
		require.FileExists(t, filepath.Join(dir, "private/results/seeded-tree-"+name+".csv"))
		require.Greater(t, row.Accuracy, 0.7, row.Method)
		require.Greater(t, *row.Epsilon, 0.99*row.TargetEpsilon)
		require.LessOrEqual(t, *row.Epsilon, row.TargetEpsilon)
		require.Equal(t, *row.Epsilon, recompute(t, row, cfg.Delta))
		require.Len(t, row.Charged, 4)
		require.InDelta(t, 0.1, row.Charged[0].Share+row.Charged[1].Share+row.Charged[2].Share, 0.04)
	}
	require.Equal(t, timeless(r), timeless(testkit.Must(Compare(t.Context(), cfg))))
	o := testkit.Must(cfg.Outline(t.Context()))
	require.Contains(t, o.Steps[0].What, "tree of 3 columns at epsilon 3, 10 % of each budget")
	cfg.Pool = "some"
	require.ErrorContains(t, cfg.Validate(), "no Pool")
}

func TestDrawnPoolPlan(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Task, cfg.Methods = declaredTask(t, 600, 1), []string{ReverseKNN}
	r := testkit.Must(Compare(t.Context(), cfg))
	require.Equal(t, PoolNone, r.PoolOf)
	require.Len(t, r.Rows[0].Charged, 1)
	require.Greater(t, r.Rows[0].Accuracy, 0.8)
	cfg.Pool = PoolMarginals
	o := testkit.Must(cfg.Outline(t.Context()))
	require.Contains(t, o.Steps[0].What, "marginals of 3 columns at epsilon 2, 10 % of each budget")
	cfg.Methods = []string{TrueLabels}
	require.ErrorContains(t, cfg.Validate(), "nobody knows the labels")
	cfg.Methods, cfg.Task = nil, blobs(300, 60, 30)
	require.ErrorContains(t, cfg.Validate(), "declared ranges")
}

func TestHashIsOfTheTask(t *testing.T) {
	full := testkit.Must(config(t, t.TempDir()).withDefaults())
	require.Equal(t, full.Task.Hash(), full.Hash())
	other := full.with(declaredTask(t, 600, 1))
	require.Equal(t, other.Task.Hash(), other.Hash())
	require.NotEqual(t, full.Hash(), other.Hash())
}

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
	cfg.Task, cfg.Methods, cfg.Epsilons = blobs(900, 90, 100), neighbourMethods()[:2], []float64{1, 2}
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
	var plans []nearby.Plan
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
		for _, m := range neighbourMethods()[:2] {
			plans = append(plans, testkit.Must(point{Config: c, epsilon: 2}.neighbourPlan(t.Context(), m, c.units)))
		}
	}
	require.Equal(t, plans[:2], plans[2:])
}
