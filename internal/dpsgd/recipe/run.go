package recipe

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/dpsgd/typical"
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
	ends  []int    // ends of units in the private rows; nil if every unit has one row
	ready prepared
}

// Run trains every plan Seeds times and returns one row per plan. After an interruption, Run with the same
// Config reuses finished trainings and the checkpoint of an unfinished training. The result is bit-identical,
// and nothing is charged twice. Every training writes a model file for [OpenModel] to
// Config.Dir/public/models. If models may not be published, the folder is Config.Dir/private/results/models.
// The ledger stores the SHA-256 of each file.
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

func (r *runner) rowsOfUnits(private dataset.Set) (dataset.Set, []int, error) {
	key, err := r.Key.Derive("rows of a unit").MarshalText()
	if err != nil {
		return dataset.Set{}, nil, wrapped(err)
	}
	set, ends := private.PerUnit(r.RowsPerUnit, key)
	return set, ends, nil
}

func wholeSeconds(start time.Time) float64 { return math.Ceil(time.Since(start).Seconds()) }

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

func mean(runs []Row) Row {
	row, n := runs[0], float64(len(runs))
	row.Accuracy, row.Seconds = 0, 0
	var accuracies []float64
	var recalls [][]float64 // nil in a run of an earlier version
	var areas []*float64
	row.Predicted = nil
	for _, r := range runs {
		row.Accuracy += r.Accuracy / n
		row.Seconds += r.Seconds / n
		accuracies, recalls = append(accuracies, r.Accuracy), append(recalls, r.Recall)
		areas, row.Predicted = append(areas, r.AUROC), append(row.Predicted, r.Predicted...)
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
	spent  map[int]float64 // known epsilons by number of steps
	result *Result         // receives the state of a shared ledger

	id    string
	dir   string // folder of the run's files under private/
	noise float64
	claim claim // of a private run
}

func (j *job) name() string { return fmt.Sprintf("%s-run-%d", j.plan.name(), j.seed) }

type state struct {
	ID        string       `json:"id"` // identifies the run and its data
	Noise     float64      `json:"noise_multiplier"`
	Curve     []Point      `json:"curve,omitempty"`     // points until the last save
	Row       *Row         `json:"row,omitempty"`       // only of a finished run
	Predicted [][]int      `json:"predicted,omitempty"` // predictions of a finished run
	Ledger    *LedgerState `json:"ledger,omitempty"`    // shared ledger after a finished run
}

func (j *job) stateFile() string { return filepath.Join(j.dir, "state.json") }

func (j *job) save(s state) error {
	s.ID = j.id
	if s.Row != nil {
		s.Predicted = s.Row.Predicted
	}
	return run.WriteState(j.stateFile(), s)
}

// Schema identifies the JSON form of a [Result].
const Schema = "pate.dpsgd/1"

// Result holds one row per plan. Running times and Bayesian figures depend on private data and are not
// charged. [Result.WithoutTimes] omits both. The JSON form stays compatible.
type Result struct {
	Schema     string  `json:"schema"`
	Data       string  `json:"data"`
	Provenance string  `json:"provenance,omitempty"`
	Split      string  `json:"split"`
	Private    int     `json:"private"` // number of units, or Config.Records
	Test       int     `json:"test"`
	Classes    int     `json:"classes"`
	Delta      float64 `json:"delta"`
	Relation   string  `json:"relation"`
	Unit       string  `json:"unit"`
	// Releasable reports whether the whole Result may be released: every row is charged, noise is
	// cryptographic, and Withheld is empty.
	Releasable bool `json:"releasable"`
	// Withheld is the reason why nothing may be released, or "" (see [dataset.Task.Withheld]).
	Withheld   string       `json:"withheld,omitempty"`
	Seeded     bool         `json:"seeded"`
	Seeds      int          `json:"seeds"`
	Rows       []Row        `json:"rows"`
	Seconds    float64      `json:"seconds,omitempty"`     // whole seconds, rounded up
	EpsilonAll float64      `json:"epsilon_all,omitempty"` // cost of all rows and seeds together
	Ledger     *LedgerState `json:"ledger,omitempty"`      // only if the ledger is shared
	Note       string       `json:"note,omitempty"`
}

// WithoutTimes returns a copy of r without running times and Figures.
func (r *Result) WithoutTimes() *Result {
	out := *r
	out.Seconds, out.Rows = 0, slices.Clone(r.Rows)
	for i := range out.Rows {
		out.Rows[i].Seconds, out.Rows[i].Figures = 0, typical.Figures{}
	}
	return &out
}

func (r *Result) Typical() typical.Rows {
	return typical.Of(r.Rows, func(row Row) typical.Figures { return row.Figures })
}

// LedgerState describes a shared ledger after the run.
type LedgerState struct {
	Unit    string      `json:"unit"`
	Mode    ledger.Mode `json:"mode"`
	Budget  float64     `json:"budget"`
	Claim   float64     `json:"claim"`    // epsilon of all releases of the ledger
	LeftRho float64     `json:"left_rho"` // rho of the largest Gaussian release that still fits
}

// Row is the result of one plan. Accuracy and SD are the mean and the standard deviation of the test accuracy
// over seeds.
type Row struct {
	Model    string `json:"model"`
	Features string `json:"features"`
	// Settings lists the parameters of features fitted to private rows. For other features, Settings is
	// empty.
	Settings   string    `json:"feature_settings,omitempty"`
	Dimensions int       `json:"dimensions"` // number of features
	Parameters int       `json:"parameters"`
	Epsilon    *float64  `json:"epsilon,omitempty"` // certified upper bound; absent without privacy
	EpsilonLow *float64  `json:"epsilon_lower,omitempty"`
	Releasable bool      `json:"releasable"`
	Accuracy   float64   `json:"accuracy"`
	SD         *float64  `json:"sd,omitempty"`   // absent for one seed
	Runs       []float64 `json:"runs,omitempty"` // accuracies of all runs; absent for one seed
	// Recall is the recall of each class on the test rows, averaged over seeds. It is 0 for a class without
	// test rows. Results of earlier versions lack Recall.
	Recall []float64 `json:"recall,omitempty"`
	// AUROC is the area under the receiver operating characteristic on the test rows, for two classes.
	// AUROCSD is the standard deviation over seeds. Results of earlier versions lack these fields.
	AUROC   *float64 `json:"auroc,omitempty"`
	AUROCSD *float64 `json:"auroc_sd,omitempty"`
	// StandardError is the standard error of Accuracy for the number of test rows. It is 0 in results of
	// earlier versions.
	StandardError float64 `json:"standard_error,omitempty"`
	Steps         int     `json:"steps"`
	Probability   float64 `json:"sampling_probability"`
	// Sampling is the sampling scheme, or "" for Poisson sampling. EpochSteps is the number of steps of an
	// epoch, for schemes with epochs. Bands is the number of bands, for cyclic sampling.
	Sampling     dpsgd.Scheme      `json:"sampling,omitempty"`
	EpochSteps   int               `json:"epoch_steps,omitempty"`
	Bands        int               `json:"bands,omitempty"`
	Noise        float64           `json:"noise_multiplier,omitempty"`
	ClipNorm     float64           `json:"clip_norm,omitempty"` // absent without clipping
	LearningRate float64           `json:"learning_rate"`
	Statistics   []json.RawMessage `json:"statistics"`        // events charged before the training
	Seconds      float64           `json:"seconds,omitempty"` // mean over seeds, whole, rounded up
	// Account is the schedule from which `pate account` recomputes Epsilon.
	Account         *accountant.Schedule `json:"account,omitempty"`
	Curve           []Point              `json:"curve,omitempty"` // accuracy against spent budget, first seed
	Name            string               `json:"name"`            // in file names
	typical.Figures                      // of the training alone
	// Predicted holds the predicted classes of the test rows for each seed. It is not in the JSON form.
	Predicted [][]int `json:"-"`
}

// Point is an intermediate state of a training.
type Point struct {
	Step     int     `json:"step"`
	Epsilon  float64 `json:"epsilon,omitempty"` // absent without privacy
	Accuracy float64 `json:"accuracy"`
}
