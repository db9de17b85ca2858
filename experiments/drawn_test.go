package experiments

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/aggregate/marginals"
	"github.com/pate-go/pate/internal/testkit"
)

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
	cfg.Task, cfg.Methods, cfg.Epsilons, cfg.Marginals = declaredTask(t, 1200, 3), []string{GNMax, ReverseKNN}, []float64{2, 4}, true
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
		require.InDelta(t, marginals.PoolShare, row.Charged[0].Share, 0.02)
		require.Len(t, row.Charged, 2)
	}
	counts := testkit.Must(csv.NewReader(strings.NewReader(files["private/results/seeded-marginals-pate-gnmax-epsilon-4-0.csv"])).ReadAll())
	reds := 0
	for _, line := range counts {
		if line[0] == "colour" {
			n := testkit.Must(strconv.Atoi(line[2]))
			reds += n
		}
	}
	require.InDelta(t, cfg.Task.Private.UnitCount(), reds, 150, "units, not their rows")
	again := testkit.Must(Compare(t.Context(), cfg))
	require.Equal(t, timeless(r), timeless(again))
	all()
	cfg.Task.Private.Y[0] = 1 - cfg.Task.Private.Y[0] // other data: another run
	require.Error(t, testkit.Err(Compare(t.Context(), cfg)))
}

// Questions from declared ranges alone cost nothing, and the plan says what marginals take.
func TestDrawnPoolPlan(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Task, cfg.Methods = declaredTask(t, 600, 1), []string{ReverseKNN}
	r := testkit.Must(Compare(t.Context(), cfg))
	require.Equal(t, PoolNone, r.PoolOf)
	require.Len(t, r.Rows[0].Charged, 1)
	require.Greater(t, r.Rows[0].Accuracy, 0.8)
	cfg.Marginals = true
	o := testkit.Must(cfg.Outline(t.Context()))
	require.Contains(t, o.Steps[0].What, "marginals of 3 columns at epsilon 2, 10 % of each budget")
	cfg.Methods = []string{TrueLabels}
	require.ErrorContains(t, cfg.Validate(), "nobody knows the labels")
	cfg.Methods, cfg.Task = nil, blobs(300, 60, 30)
	require.ErrorContains(t, cfg.Validate(), "declared ranges")
}

// What a run is bound to is the hash of the task that it has, also of one put in later.
func TestHashIsOfTheTask(t *testing.T) {
	full := testkit.Must(config(t, t.TempDir()).withDefaults())
	require.Equal(t, full.Task.Hash(), full.hash())
	other := full.with(declaredTask(t, 600, 1))
	require.Equal(t, other.Task.Hash(), other.hash())
	require.NotEqual(t, full.hash(), other.hash())
}
