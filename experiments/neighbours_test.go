package experiments

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

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
			text := testkit.Must(os.ReadFile(filepath.Join(dir, file)))
			files[file] = string(text)
		}
		labels := files["private/results/seeded-labels-"+name+".csv"]
		require.Equal(t, row.Asked+1, strings.Count(labels, "\n"))
		require.Equal(t, row.Method == ReverseKNN, strings.HasPrefix(labels, `query,label,votes a,"votes b, c",votes d`+"\n"))
	}
	_, err := os.Stat(filepath.Join(dir, "private", "run-0"))
	require.ErrorIs(t, err, os.ErrNotExist, "no teachers, no votes of them")
	again := testkit.Must(Compare(t.Context(), cfg))
	require.Equal(t, timeless(r), timeless(again))
	for file, before := range files {
		text := testkit.Must(os.ReadFile(filepath.Join(dir, file)))
		require.Equal(t, before, string(text), file)
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
			plan := testkit.Must(point{Config: c, epsilon: 2}.neighbourPlan(t.Context(), m))
			plan.release = nil
			plans = append(plans, plan)
		}
	}
	require.Equal(t, plans[:2], plans[2:])
}
