// Package publish carries out a publication, from private rows to a student. A publication has one folder,
// one budget and one ledger. Its stages are:
//
//	rows      private and public rows are read and checked, labels are planned, and queries are chosen
//	votes     teachers are trained on disjoint parts of the private rows, and vote on the queries
//	labels    the ledger is charged, and labels are released; see package label
//	student   a student learns from labels and public rows; a statement and a page describe it
//
// Without public rows, the pool is drawn from declared ranges, or from noisy counts of the private rows.
// These counts are charged to the same ledger. With method [Nearest] or [Sample], private units vote in place
// of teachers. With [DPSGD], one private model replaces teachers, labels and student.
//
// # Guarantee
//
// The public half of the folder is (Epsilon, Delta)-differentially private for adding or removing one unit of
// the private rows. This half may be published after the run is complete. An interrupted run resumes with the
// same noise at no further cost. Private rows are validated before the charge, so their content cannot stop a
// run after the charge.
package publish

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

const (
	Nearest = "nearest" // every unit votes at the nearest public rows
	Sample  = "sample"  // the nearest units of a sample vote on each query
	DPSGD   = "dpsgd"   // one linear model
	PATE    = "pate"    // teachers vote
	Auto    = "auto"    // chosen from public numbers by Choose
)

const (
	PoolRows      = "rows"      // public rows
	PoolNone      = "none"      // rows drawn from declared ranges
	PoolMarginals = "marginals" // rows drawn from noisy counts of each column, which are charged
	PoolTree      = "tree"      // rows drawn along a tree of pairs of columns, whose noisy counts are charged
)

const DefaultAccuracy = 0.9

// Settings holds all inputs of a publication except the rows and the key. Private, Epsilon, Delta and either
// Public or Ranges are required.
type Settings struct {
	Private         dataset.Source  `json:"private"`
	Public          dataset.Source  `json:"public"`
	Reading         dataset.Reading `json:"reading"`
	Epsilon         float64         `json:"epsilon"`
	Delta           float64         `json:"delta"`
	Unit            string          `json:"unit"`                       // name of the privacy unit; default: the unit column, or "record"
	Seed            *uint64         `json:"seed,omitempty"`             // makes a repeatable experiment, which is not releasable
	Method          string          `json:"method"`                     // default Auto; the run records the chosen method
	Size            int             `json:"size,omitempty"`             // approximate public number of private units; optional only for PATE
	RowsPerUnit     int             `json:"rows_per_unit,omitempty"`    // for DPSGD: maximum number of training rows per unit; default 1
	Teachers        int             `json:"teachers,omitempty"`         // default: computed from Size, or 100
	Learner         string          `json:"learner,omitempty"`          // one of training.Learners; default: depends on the kind of data
	TeacherAccuracy float64         `json:"teacher_accuracy,omitempty"` // accuracy of one teacher, from public data; 0 if unknown
	MinAccuracy     float64         `json:"min_accuracy,omitempty"`     // least fraction of labels that equal the plurality; default DefaultAccuracy
	Pool            string          `json:"pool"`                       // default PoolRows
	Group           string          `json:"group,omitempty"`            // category column of Public, for accuracy by group
	Ranges          string          `json:"ranges,omitempty"`           // file with the declared ranges of all columns, for the other pools
}

// Config describes a publication. Out is required.
type Config struct {
	Settings
	Out            string          // folder; the subfolder "public" may be released
	DestroySecrets bool            // remove keys and votes of a complete run
	Command        string          // command line that repeats the run, for error messages
	Cache          *features.Cache // for DPSGD; may be nil

	Progress func(stage string, done, total int)
	Say      func(text string) // called with public sentences about the run
	Warn     func(text string)
	Columns  func([]dataset.ColumnNote) // called with notes on the columns of public rows
	// Spare is called when all rows are in memory, before DP-SGD trains. The returned function is called
	// after training.
	Spare func(dataset.Task) (restore func())
}

// Implied returns Method if Method is set and is not [Auto]. Otherwise, a setting for teachers implies
// [PATE]. Without such a setting, Pool decides. The default, [PoolRows], implies [Auto]. Any other Pool
// implies [Nearest].
func (s Settings) Implied() string {
	if method := cmp.Or(s.Method, Auto); method != Auto {
		return method
	}
	if s.Teachers != 0 || s.Learner != "" || s.TeacherAccuracy != 0 || s.MinAccuracy != 0 {
		return PATE
	}
	if cmp.Or(s.Pool, PoolRows) != PoolRows {
		return Nearest
	}
	return Auto
}

func (c Config) complete() (Config, error) {
	c.Method, c.Pool = c.Implied(), cmp.Or(c.Pool, PoolRows)
	c.MinAccuracy, c.RowsPerUnit = cmp.Or(c.MinAccuracy, DefaultAccuracy), cmp.Or(c.RowsPerUnit, 1)
	c.Unit = cmp.Or(c.Unit, c.Reading.CSV.Unit, "record")
	drawn := c.Pool != PoolRows
	wrong := ""
	switch {
	case c.Private.Path == "" || c.Out == "":
		wrong = "Private and Out are required"
	case !(c.Epsilon > 0) || math.IsInf(c.Epsilon, 1) || !(c.Delta > 0 && c.Delta < 1):
		wrong = fmt.Sprintf("Epsilon %v and Delta %v: want a finite number above 0, and one below 1", c.Epsilon, c.Delta)
	case !slices.Contains([]string{Auto, Nearest, Sample, DPSGD, PATE}, c.Method) ||
		!slices.Contains([]string{PoolRows, PoolNone, PoolMarginals, PoolTree}, c.Pool):
		wrong = fmt.Sprintf("there is no Method %q with Pool %q", c.Method, c.Pool)
	case drawn != (c.Ranges != "") || drawn == (c.Public.Path != ""):
		wrong = "Public is for a pool of rows, and Ranges for the other pools"
	case drawn && c.Group != "":
		wrong = "Group needs Public"
	case drawn && (c.Method == DPSGD || c.Method == Auto):
		wrong = "Method " + c.Method + " needs Public"
	case c.Method != PATE && c.Size < 2:
		wrong = "Method " + c.Method + " needs Size, the approximate number of units, which becomes public; Method pate does not"
	case !(c.TeacherAccuracy >= 0 && c.TeacherAccuracy < 1) || !(c.MinAccuracy > 0 && c.MinAccuracy < 1):
		wrong = "TeacherAccuracy and MinAccuracy must lie between 0 and 1"
	}
	if wrong != "" {
		return c, errors.New("publish: " + wrong)
	}
	if c.Progress == nil {
		c.Progress = func(string, int, int) {}
	}
	if c.Say == nil {
		c.Say = func(string) {}
	}
	if c.Columns == nil {
		c.Columns = func([]dataset.ColumnNote) {}
	}
	return c, nil
}

// Units returns the number of protected units: s.Size, or the number of teachers if s.Size is 0.
func (s Settings) Units() run.Units {
	if s.Size > 0 {
		return run.Units{N: s.Size, Noun: "units"}
	}
	return run.Units{N: training.Job{Teachers: s.Teachers, Size: s.Size}.Count(), Noun: "teachers"}
}

type job struct {
	Config
	dir   results.Folder
	begun bool    // the run exists already
	read  *public // nil until public or readRows is called
	drawn *drawn  // nil if public rows are given
	key   rng.Key

	private dataset.Set
	hash    [32]byte // of the private rows as they were read
}

type public struct {
	*dataset.Schema
	pool  dataset.Pool
	shows recipe.Shape // zero until seen is called
}

func (p *public) seen() recipe.Shape {
	if p.shows == (recipe.Shape{}) {
		p.shows = recipe.Shape{}.Seen(p.pool.X)
	}
	return p.shows
}

func (j *job) public() (*public, error) {
	if j.read == nil {
		schema, pool, err := j.readPublic()
		if err != nil {
			return nil, err
		}
		j.read = &public{Schema: schema, pool: pool}
	}
	if e := j.read.Encoder; e != nil {
		j.Columns(e.Notes())
	}
	j.Say(fmt.Sprintf("public rows: %d, of %d features", j.read.pool.Len(), j.read.Features))
	return j.read, nil
}

func (s Settings) readPublic() (*dataset.Schema, dataset.Pool, error) {
	schema, pool, err := dataset.ReadPublic(s.Public, s.Reading)
	if err != nil || s.Group == "" {
		return schema, pool, err
	}
	if features, _ := published.Groups(schema, s.Group); features != nil {
		return schema, pool, nil
	}
	return nil, pool, &fault.Error{What: fmt.Sprintf("the public rows have no category column %q", s.Group),
		Why: "accuracy is reported for each category of this column", Fix: "name a column with categories"}
}

const (
	labelsFile    = "labels.csv"
	queriesFile   = "queries.csv"
	labelledFile  = "labelled.csv"
	studentFile   = "student.model"
	statementFile = "statement.html"
	reportFile    = "report.html"
	ledgerFile    = "ledger.jsonl"
	poolFile      = "pool.csv"
	marginalsFile = "marginals.csv"
	treeFile      = "tree.csv"
	tableFile     = "table.csv"
)

type method interface {
	// look reads all rows and returns a hash of the private rows. It fails if no method can learn from the
	// rows, or if the budget is too small for any result.
	look(context.Context) ([32]byte, error)
	release(context.Context) (*Report, error)
}

func (j *job) method() (m method, err error) {
	var held Settings
	if j.begun, err = run.Settings(j.Out, &held); err != nil {
		return nil, err
	}
	if j.Method == Auto && j.begun {
		j.Method = cmp.Or(held.Method, DPSGD)
		j.Say("method: " + j.Method + ", as this run began")
	}
	if j.Method == Auto {
		if err := j.choose(); err != nil {
			return nil, err
		}
	}
	switch j.Method {
	case DPSGD:
		return &model{job: j}, nil
	case Nearest, Sample:
		return &near{job: j}, nil
	}
	return &voting{job: j}, j.Units().Check(j.Delta)
}

// Run carries out a publication, or resumes an interrupted one. For a complete run, Run compares the files
// with the ledger and restores missing public files. If the folder has a run with another configuration, or a
// complete run on other data, the error is [run.ErrOtherRun]. If no labels would be correct often enough, the
// error is a [*plan.NoPlanError] and nothing is charged.
func Run(ctx context.Context, c Config) (*Report, error) {
	c, err := c.complete()
	if err == nil {
		err = c.Units().Check(c.Delta)
	}
	if err != nil {
		return nil, err
	}
	j := &job{Config: c, dir: results.Folder(c.Out)}
	if err := j.dir.Vacant(); err != nil {
		return nil, err
	}
	m, err := j.method()
	if err != nil {
		return nil, err
	}
	data, err := m.look(ctx)
	if err != nil {
		return nil, err
	}
	folder, err := j.open(ctx)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	var r *Report
	if folder.Finished {
		if err := folder.CheckMadeOf(data, "what is in "+c.Out); err != nil {
			return nil, err
		}
		j.Say("this release is complete; nothing was trained")
		r, err = j.kept()
	} else {
		r, err = j.make(ctx, &folder, m, data)
	}
	if err == nil && c.DestroySecrets {
		err = j.destroySecrets()
	}
	if err == nil && folder.Finished {
		err = j.publish(r)
	}
	return r, err
}

// make reuses the charge, the key of the labels and the votes of teachers after an interruption.
func (j *job) make(ctx context.Context, folder *run.Folder, m method, data [32]byte) (*Report, error) {
	if left, err := os.ReadDir(j.dir.Public()); err == nil && len(left) > 0 {
		return nil, results.Released(j.dir.Public(left[0].Name()), "the run in "+j.dir.Private()+" has not released it")
	}
	if err := durable.PrivateFolder(j.made("")); err != nil {
		return nil, err
	}
	j.key = folder.Key
	r, err := m.release(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = j.dir.Keep(keptReport, text)
	}
	if err != nil {
		return nil, err
	}
	return r, folder.Finish(data)
}
