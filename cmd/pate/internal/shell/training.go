package shell

import (
	"cmp"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/dpsgd/typical"
	"github.com/pate-go/pate/teachers/votes"
)

// CheckTeachers returns an error if the number of teachers or the declared number of units is invalid.
func CheckTeachers(given func(string) bool, teachers, size int) error {
	return cmp.Or(If(given("teachers") && (teachers < 2 || teachers > votes.MaxTeachers),
		"--teachers %d: must be from 2 to %d; the default is computed from --size, or is 100 if --size is missing", teachers, votes.MaxTeachers),
		checkSize(given, size))
}

func checkSize(given func(string) bool, size int) error {
	return If(given("size") && (size < 2 || size > math.MaxInt32), "--size %d: the number of units must be at least 2", size)
}

func CheckUnits(given func(string) bool, size, rows int) error {
	return cmp.Or(checkSize(given, size),
		If(rows < 1 || rows > dpsgd.MaxRows, "--rows-per-unit %d: must be from 1 to %d", rows, dpsgd.MaxRows))
}

func SayRecords(g *Globals, cfg recipe.Config) {
	n := cfg.Shape().Records
	if cfg.Records > 0 {
		g.Logf("units: %d, as declared", n)
		return
	}
	g.Logf("units: %d; noise and model card will reveal this number, unless --size declares a public number", n)
}

func SayRows(g *Globals, cfg recipe.Config) {
	if cfg.RowsPerUnit <= 1 {
		g.Logf("rows of one %s: only the first is used, which may differ from later ones (as in order of time); "+
			"--rows-per-unit uses more, at the same epsilon", cfg.Unit)
		return
	}
	g.Logf("rows of one %s: up to %d are used; their gradients are averaged and count as one, so epsilon covers all of them", cfg.Unit,
		cfg.RowsPerUnit)
}

// TypicalFlags holds the flag --bayes and its options, for Bayesian differential privacy.
type TypicalFlags struct {
	on      bool
	delta   float64
	between string
	most    int
}

func (f *TypicalFlags) Add(cmd *cobra.Command) {
	Declare(cmd.Flags(), "bayes", To{"bayes": &f.on, "bayes-delta": &f.delta, "bayes-distances": &f.between,
		"bayes-samples": &f.most})
}

func TypicalNames() []string {
	return []string{"bayes", "bayes-delta", "bayes-distances", "bayes-samples"}
}

func (f *TypicalFlags) Read(cmd *cobra.Command) (*typical.Config, error) {
	if !f.on {
		names := TypicalNames()[1:]
		if i := slices.IndexFunc(names, cmd.Flags().Changed); i >= 0 {
			return nil, Usagef("bayes", "--%s needs --bayes", names[i])
		}
		return nil, nil
	}
	c := &typical.Config{Delta: f.delta, Most: f.most}
	if f.between == dpsgd.Records.String() {
		c.Between = dpsgd.Records
	}
	if err := Refuse("bayes", If(!(f.delta > 0 && f.delta < 1), "--bayes-delta %v: must lie strictly between 0 and 1", f.delta),
		If(f.most < 0 || f.most == 1, "--bayes-samples: must be at least 2")); err != nil {
		return nil, err
	}
	return c, nil
}

// FeatureCache returns the feature cache in the user's cache folder. FeatureCache reports only the first
// error, because the number of errors could reveal the private number of runs in a search.
func FeatureCache(tell func(text string)) *features.Cache {
	var once sync.Once
	return &features.Cache{Warn: func(err error) {
		once.Do(func() { tell(fmt.Sprintf("%v; what the cache lacks is computed", err)) })
	}}
}

const manyBytes = 64 << 20

// SpareMemory makes garbage collection more frequent if a task is large. The caller must defer restore.
func SpareMemory(task dataset.Task) (restore func()) {
	numbers := 0
	for _, set := range []dataset.Set{task.Private, task.Pool, task.Test} {
		numbers += set.X.Rows * set.X.Cols
	}
	switch {
	case 4*numbers < manyBytes:
		return func() {}
	case task.Image.Rows > 0:
		return CollectAt(5)
	}
	return CollectAt(30)
}

// CollectAt sets the garbage collection percentage. The caller must defer restore.
func CollectAt(percent int) (restore func()) {
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}

// PrivateTask reads public and private rows into a task for one private model, and prints how columns are
// used. All private rows are training rows. If scored is true, the public rows with labels are the test rows.
func PrivateTask(g *Globals, f *PairFlags, private string, scored bool) (dataset.Task, *dataset.Schema, dataset.Pool, error) {
	fail := func(err error) (dataset.Task, *dataset.Schema, dataset.Pool, error) {
		return dataset.Task{}, nil, dataset.Pool{}, FaultError(err, "data")
	}
	reading, err := f.Reading(g)
	if err != nil {
		return fail(err)
	}
	if err := f.CheckApart(private); err != nil {
		return fail(err)
	}
	schema, pool, err := dataset.ReadPublic(f.PublicSource(), reading)
	if err != nil {
		return fail(err)
	}
	readEncoder(g, schema.Encoder)
	g.Logf("public rows: %d, of %d features", pool.Len(), schema.Features)
	t, err := schema.ReadTask(f.PrivateSource(private))
	if err != nil {
		return fail(err)
	}
	if scored {
		t.Test = labelled(pool, schema.Classes)
	}
	return t, schema, pool, nil
}

func labelled(p dataset.Pool, classes []string) dataset.Set {
	set := dataset.Set{Name: p.Name, Image: p.Image, Classes: classes}
	set.X.Cols, set.X.Stride = p.X.Cols, p.X.Cols
	for i, truth := range p.Truth {
		if truth >= 0 {
			set.X.Rows++
			set.X.Data = append(set.X.Data, p.X.Data[i*p.X.Stride:i*p.X.Stride+p.X.Cols]...)
			set.Y, set.IDs, set.Units = append(set.Y, truth), append(set.IDs, p.IDs[i]), append(set.Units, p.IDs[i])
		}
	}
	return set
}

const maxAloud = 40

// ReadAloud prints how columns of a table are used. Notes depend only on public rows and declared ranges.
func ReadAloud(g *Globals, notes []dataset.ColumnNote) {
	if len(notes) > 0 {
		g.Logf("columns, as the public rows show them:")
	}
	for _, line := range aloud(notes) {
		g.Logf("  %s", line)
	}
}

// ReadTaskAloud prints how the columns of a task are used. It warns if no result of the task may be released.
func ReadTaskAloud(g *Globals, t dataset.Task) {
	if why := t.Withheld(); why != "" {
		g.Warn("not releasable: " + why + " (the ε of a run on the default split does not cover what is learned from or chosen with these rows)")
	}
	readEncoder(g, t.Encoder)
}

func readEncoder(g *Globals, e *dataset.Encoder) {
	if e != nil {
		ReadAloud(g, e.Notes())
	}
}

func aloud(notes []dataset.ColumnNote) []string {
	var lines []string
	line := func(name string, n dataset.ColumnNote) {
		lines = append(lines, fmt.Sprintf("%-20s %s -> %s", name, n.Is, n.Becomes))
	}
	if len(notes) <= maxAloud {
		for _, n := range notes {
			line(n.Name, n)
		}
		return lines
	}
	for from := 0; from < len(notes); {
		to := from + 1
		for to < len(notes) && notes[to].Is == notes[from].Is && notes[to].Becomes == notes[from].Becomes {
			to++
		}
		name := notes[from].Name
		if to-from > 1 {
			name = fmt.Sprintf("%s to %s (%d)", name, notes[to-1].Name, to-from)
		}
		line(name, notes[from])
		from = to
	}
	if len(lines) > maxAloud {
		lines = append(lines[:maxAloud], fmt.Sprintf("... and %d more lines", len(lines)-maxAloud))
	}
	return lines
}
