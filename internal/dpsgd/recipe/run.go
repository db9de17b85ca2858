package recipe

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/run"
)

type runner struct {
	Config
	shape Shape
	hash  [32]byte // of the task
	made  string   // identifies the features in ready
	ends  []int    // of units of several rows; nil where a unit has one
	ready prepared
}

// Run trains every plan, Seeds times, and returns a row for each plan. It may be interrupted and called again
// with the same Config: results are taken from Config.Dir, a training is resumed from its checkpoint, to the
// last bit, and nothing is charged twice. The models are left in Config.Dir/public/models, or
// Config.Dir/private/results/models if they may not be published, a file each as [OpenModel] reads it; the
// ledger has its SHA-256.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	start := time.Now()
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	switch {
	case c.Key.IsZero():
		return nil, fmt.Errorf("%w: Key is empty", ErrConfig)
	case c.Dir == "":
		return nil, fmt.Errorf("%w: Dir is empty", ErrConfig)
	}
	if err := durable.PrivateFolder(results.Folder(c.Dir).Private("ledger")); err != nil {
		return nil, wrapped(err)
	}
	r := &runner{Config: c, shape: c.Shape()}
	r.Task = c.Task.WithoutPool()
	if c.RowsPerUnit == 1 {
		r.Task.Private = c.Task.Private.OnePerUnit()
	} else if r.Task.Private, r.ends, err = r.rowsOfUnits(c.Task.Private); err != nil {
		return nil, err
	}
	r.hash = r.Task.Hash()
	result := &Result{
		Schema: Schema, Data: c.Task.Name, Provenance: c.Task.Provenance, Split: string(c.Task.Protocol),
		Private: r.shape.Records, Test: r.Task.Test.Len(), Classes: len(c.Task.Classes),
		Delta: c.Delta, Relation: relation.String(), Unit: c.Unit,
		Releasable: true, Withheld: c.Task.Withheld(), Seeded: !c.Key.Releasable(), Seeds: c.Seeds,
	}
	if c.Task.Grouped {
		result.Note = fmt.Sprintf("trained on one row per %s, which is what epsilon is for", c.Unit)
	}
	if r.ends != nil {
		result.Note = fmt.Sprintf("trained on up to %d rows per %s, which is what epsilon is for", c.RowsPerUnit, c.Unit)
	}
	rows, err := r.plans(ctx, result)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		result.Releasable = result.Releasable && row.Releasable
		result.Rows = append(result.Rows, row)
	}
	together, all, err := r.together(rows)
	if err != nil {
		return nil, err
	}
	if len(all.Events) > 0 {
		b, err := together.epsilonOf(ctx, all)
		if err != nil {
			return nil, err
		}
		result.EpsilonAll = b.Upper
	}
	result.Seconds = wholeSeconds(start)
	return result, nil
}

// rowsOfUnits returns the rows to train on, and the ends of units among them.
func (r *runner) rowsOfUnits(private dataset.Set) (dataset.Set, []int, error) {
	key, err := r.Key.Derive("rows of a unit").MarshalText()
	if err != nil {
		return dataset.Set{}, nil, wrapped(err)
	}
	set, ends := private.PerUnit(r.RowsPerUnit, key)
	return set, ends, nil
}

func wholeSeconds(start time.Time) float64 { return math.Ceil(time.Since(start).Seconds()) }

// plans runs every plan with every seed, and returns a row for each plan. The plans of one seed follow each
// other, because they share features.
func (r *runner) plans(ctx context.Context, result *Result) ([]Row, error) {
	runs, spent := make([][]Row, len(r.Plans)), make([]map[int]float64, len(r.Plans))
	for seed := range r.Seeds {
		for i, p := range r.Plans {
			if spent[i] == nil {
				spent[i] = map[int]float64{}
			}
			one := job{runner: r, plan: p, seed: seed, spent: spent[i], result: result}
			row, err := one.run(ctx)
			if err != nil {
				return nil, err
			}
			runs[i] = append(runs[i], row)
		}
	}
	rows := make([]Row, len(r.Plans))
	for i := range rows {
		rows[i] = mean(runs[i])
		rows[i].StandardError = scores.StandardError(rows[i].Accuracy, r.Task.Test.Len())
	}
	return rows, nil
}

// mean averages runs of one plan; the rest is taken from the first.
func mean(runs []Row) Row {
	row, n := runs[0], float64(len(runs))
	row.Accuracy, row.Seconds = 0, 0
	var accuracies []float64
	var recalls [][]float64 // nil of a run of an earlier version
	var areas []*float64
	for _, r := range runs {
		row.Accuracy += r.Accuracy / n
		row.Seconds += r.Seconds / n
		accuracies, recalls = append(accuracies, r.Accuracy), append(recalls, r.Recall)
		areas = append(areas, r.AUROC)
	}
	row.AUROC, row.AUROCSD = scores.Areas(areas)
	row.Seconds, row.Recall = math.Ceil(row.Seconds), scores.MeanRecall(recalls)
	if len(runs) > 1 {
		sd := scores.Deviation(accuracies, row.Accuracy)
		row.Runs, row.SD = accuracies, &sd
	}
	return row
}

type job struct {
	*runner
	plan   Plan
	seed   int
	spent  map[int]float64 // epsilon by the number of steps, where it is known
	result *Result         // takes the state of a shared ledger

	id    string
	dir   string // its files under private/
	noise float64
	claim claim // of a private run
}

func (j *job) name() string { return fmt.Sprintf("%s-run-%d", j.plan.name(), j.seed) }

// state is the part of a job on disk, apart from the checkpoint.
type state struct {
	ID     string       `json:"id"` // of the run, with its data
	Noise  float64      `json:"noise_multiplier"`
	Curve  []Point      `json:"curve,omitempty"`  // so far
	Row    *Row         `json:"row,omitempty"`    // of a finished run
	Ledger *LedgerState `json:"ledger,omitempty"` // shared one's, after a finished run
}

func (j *job) stateFile() string { return filepath.Join(j.dir, "state.json") }

func (j *job) save(s state) error {
	s.ID = j.id
	return run.WriteState(j.stateFile(), s)
}
