package experiments

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/aggregate/nearby"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// inSilos puts the units of a task into silos of unequal size and different mixes of classes. The last silo is
// empty.
func inSilos(task dataset.Task) dataset.Task {
	task.Silos, task.SiloOf = []string{"east", "north", "west", "closed"}, map[string]int{}
	for i, u := range task.Private.Units {
		task.SiloOf[u] = min(i%5, i%3)
	}
	return task
}

// Counts of silos give the labels of one table. All is charged once, and nothing twice when it is repeated.
func TestSilosVoteAsOneTable(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Task, cfg.Epsilons, cfg.Seeds = inSilos(blobs(1200, 90, 100)), []float64{1, 2}, 2
	r := testkit.Must(Compare(t.Context(), cfg))
	require.Equal(t, cfg.Task.Silos, r.Silos)
	require.Zero(t, r.Teachers%4, "each silo has as many teachers")
	methods := []string{oneSilo, GNMax, allSilos, ReverseKNN, DPSGD}
	require.Len(t, r.Rows, 10)
	read := func() map[string]string {
		files := map[string]string{}
		for _, path := range slices.Concat(testkit.Must(filepath.Glob(cfg.Dir+"/private/ledger/p*")), testkit.Must(filepath.Glob(cfg.Dir+"/private/results/*.csv"))) {
			files[filepath.Base(path)] = string(testkit.Must(os.ReadFile(path)))
		}
		return files
	}
	files := read()
	for i, row := range r.Rows {
		require.Equal(t, methods[i%5], row.Method)
		require.LessOrEqual(t, *row.Epsilon, row.TargetEpsilon)
		if row.Method != DPSGD {
			require.Equal(t, *row.Epsilon, recompute(t, row, cfg.Delta), row.Method)
		}
		name := FileName(row.Method, row.TargetEpsilon, true)
		switch row.Method {
		case allSilos:
			one := r.Rows[i+1]
			require.Equal(t, one.Runs, row.Runs)
			require.Equal(t, one.Recall, row.Recall)
			require.Equal(t, one.Account, row.Account)
			require.Equal(t, files["seeded-labels-"+FileName(ReverseKNN, row.TargetEpsilon, true)+"-1.csv"], files["seeded-labels-"+name+"-1.csv"])
		case oneSilo:
			require.Len(t, row.Runs, 8)
			for silo := 1; silo <= 4; silo++ {
				name := FileName(fmt.Sprintf("%s/%d", oneSilo, silo), row.TargetEpsilon, true)
				require.Equal(t, 1, strings.Count(files[name+"-0.jsonl"], `"discrete_gaussian"`), "the ledger of a silo has one charge")
				require.NotEqual(t, files["seeded-labels-"+name+"-0.csv"], files["seeded-labels-"+name+"-1.csv"])
			}
		}
	}
	require.Equal(t, timeless(r), timeless(testkit.Must(Compare(t.Context(), cfg))))
	require.Equal(t, files, read())

	moved := cfg
	moved.Task = inSilos(cfg.Task)
	moved.Task.SiloOf[moved.Task.Private.Units[0]] = 3
	require.Error(t, testkit.Err(Compare(t.Context(), moved)), "another silo of a unit is another run")
	for says, change := range map[string]func(*Config){
		"need silos":          func(c *Config) { c.Task, c.Methods = blobs(1200, 90, 100), []string{allSilos} },
		"not at a drawn pool": func(c *Config) { c.Task.Ranges = &dataset.Ranges{} },
		"4 silos for 3": func(c *Config) {
			c.Task, c.Delta = inSilos(blobs(3, 90, 100)), 1e-2
		},
	} {
		wrong := cfg
		change(&wrong)
		require.ErrorContains(t, wrong.Validate(), says)
	}
}

// One unit goes: the releases of all silos together are exactly within the charge for one silo, and one
// teacher loses rows. Controls: silos that share all units, and counts that are not those of all rows.
func TestAUnitIsInOneSilo(t *testing.T) {
	const sigma, reach = 1.2, 16
	noise := testkit.Must(rng.NewDiscreteGaussian(sigma))
	task := inSilos(blobs(30, 12, 10))
	plan := nearby.Plan{Questions: 12, Near: 3, Sigma: sigma}
	claim, _ := testkit.Must2(accountant.Divergence(accountant.AddRemove, 3, testkit.Must(plan.Event())))
	world := func(task dataset.Task) (point, prepared) {
		return point{Config: Config{Task: task, Teachers: 8}}, prepared{private: task.Private.X, asked: task.Pool.X, classes: 3}
	}
	// excess returns the divergence of all releases of a method at order 3, over the claim.
	excess := func(with, without dataset.Task, method string, repeat int) float64 {
		cells := func(task dataset.Task) (all []int64) {
			at, p := world(task)
			for _, e := range at.elections(p, method) {
				for range repeat {
					all = append(all, testkit.Must(neighbours.Cast(t.Context(), e.all, p.asked, plan.Near))...)
				}
			}
			return all
		}
		total, a, b := 0.0, cells(with), cells(without)
		for i := range a {
			if d := a[i] - b[i]; d != 0 {
				var p, q []float64
				for x := int64(-reach); x <= reach; x++ {
					p, q = append(p, math.Exp(noise.LogProb(x-d))), append(q, math.Exp(noise.LogProb(x)))
				}
				total += max(testkit.Renyi(p, q, 3), testkit.Renyi(q, p, 3))
			}
		}
		return total / claim
	}
	key := rng.SeedKey(3)
	at, p := world(task)
	share := testkit.Must(at.partition(key))
	for i, u := range task.Private.Units {
		require.Equal(t, task.SiloOf[u], share[i]/2, "the teacher is of the silo")
	}
	for gone, u := range task.Private.Units {
		without := task
		rest := func(from, to int) dataset.Set { return testkit.Must(task.Private.Slice(from, to)) }
		private := rest(0, gone)
		after := rest(gone+1, 30)
		private.X.Data = slices.Concat(private.X.Data, after.X.Data)
		private.X.Rows, private.Y = 29, slices.Concat(private.Y, after.Y)
		private.X.Cols, private.X.Stride = 6, 6
		private.Units = slices.Concat(private.Units, after.Units)
		without.Private = private
		require.InDelta(t, 1, excess(task, without, oneSilo, 1), 1e-6, u)
		require.InDelta(t, 1, excess(task, without, allSilos, 1), 1e-6, u)
		require.Greater(t, excess(task, without, oneSilo, 2), 1.9, "control: each unit in two silos")
		fewer, _ := world(without)
		require.Equal(t, slices.Delete(slices.Clone(share), gone, gone+1), testkit.Must(fewer.partition(key)), "no other row moves")
	}
	e := at.elections(p, allSilos)[0]
	e.silos[1] = e.silos[0]
	_, err := e.release(t.Context(), plan, nil, key, p.asked)
	require.ErrorContains(t, err, "not the counts of all rows")
}
