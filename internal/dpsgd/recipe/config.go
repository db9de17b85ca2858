package recipe

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/typical"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// Config configures [Run]. Task, Delta, Key, Dir and Plans are required.
type Config struct {
	// Task holds the data. Rows of the public pool are used as test rows (see [dataset.Task.WithoutPool]).
	Task  dataset.Task
	Delta float64 // in (0, 1/number of private units)
	Plans []Plan  // one row of the result for each plan
	Seeds int     // number of independent runs of each plan; default 1
	Unit  string  // name of the protected unit; default "record"
	// RowsPerUnit bounds the number of training rows per unit if Task.Grouped is set. The bound is public and
	// at most dpsgd.MaxRows. The default, 1, keeps the first row of each unit. A larger bound keeps the rows
	// with the smallest hashes under Key. In a step, a unit's rows contribute one clipped vector (see
	// [dpsgd.Data]).
	RowsPerUnit int
	// Records is the public number of units. It determines sampling, noise and steps. If Records is 0, the
	// run uses and publishes the number of private units.
	Records int
	// Shared, if not nil, is the ledger to charge. A shared ledger requires one plan and one seed. If the
	// plan sets neither epsilon nor noise, the run uses the least noise that fits in the remaining budget.
	Shared *Shared

	// Typical, if not nil, adds a Bayesian privacy account of a typical record.
	Typical *typical.Config

	// Rows, if not nil, is the schema of the rows, fitted on public rows. It is saved with the model.
	Rows *dataset.Schema
	// Format, if not nil, encodes the model file. The default is the format of [OpenModel]. Format must be
	// deterministic.
	Format func(m *Model, paid Paid) ([]byte, error)

	Key rng.Key // secret; all randomness derives from it
	// Dir is an existing folder for ledgers and checkpoints. A run resumes an interrupted run in the same
	// Dir.
	Dir string
	// Prefix begins the names of ledgers in Dir, before the plan's name and the run's index.
	Prefix string

	Workers  int             // default GOMAXPROCS
	Cache    *features.Cache // of features, 1.9 GB for all of MNIST; nil for no cache
	Progress func(Progress)
}

// Paid describes how a ledger was charged for a model. The charge precedes the training.
type Paid struct {
	Entry   int64   // index of the first ledger entry
	Epsilon float64 // of all releases of the ledger
	Delta   float64
}

type Progress struct {
	Stage       string
	Done, Total int
	Epsilon     float64 // cost of the training until now; 0 if unknown
}

// ErrConfig matches every error about a field of a [Config]. Run returns such an error before it does
// anything.
var ErrConfig = errors.New("recipe: bad Config")

// Validate returns an error if a field other than Key and Dir is bad. The result depends on the private
// data only through public counts.
func (c Config) Validate() error {
	_, err := c.withDefaults()
	return err
}

func (c Config) withDefaults() (full Config, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrConfig, err)
		}
	}()
	if c.Task.Private.Len() == 0 {
		return c, errors.New("no private records in Task")
	}
	if c.Records < 0 || c.Records > math.MaxInt32 {
		return c, fmt.Errorf("records %d must be positive", c.Records)
	}
	shape := c.Shape()
	switch {
	case c.RowsPerUnit < 0 || c.RowsPerUnit > dpsgd.MaxRows:
		return c, fmt.Errorf("rows per unit %d must be from 1 to %d", c.RowsPerUnit, dpsgd.MaxRows)
	case c.Seeds < 0:
		return c, fmt.Errorf("seeds %d must be positive", c.Seeds)
	case c.Workers < 0:
		return c, fmt.Errorf("workers %d must be positive", c.Workers)
	case len(c.Plans) == 0:
		return c, errors.New("no plan")
	}
	if err := units(shape.Records).Check(c.Delta); err != nil {
		return c, err
	}
	c.Seeds = cmp.Or(c.Seeds, 1)
	if c.Shared != nil && (len(c.Plans) != 1 || c.Seeds != 1) {
		return c, errors.New("a shared ledger is charged for one model at a time")
	}
	if c.Shared != nil && c.Shared.Account.Relation != relation {
		return c, fmt.Errorf("the ledger is for relation %v; DP-SGD is accounted for %v only", c.Shared.Account.Relation, relation)
	}
	var names []string
	for _, p := range c.Plans {
		if err := p.validate(shape, c.Shared != nil); err != nil {
			return c, err
		}
		trial := p.train(1)
		if _, err := c.Typical.Follow(&trial); err != nil {
			return c, err
		}
		if slices.Contains(names, p.name()) {
			return c, fmt.Errorf("%s twice", p.name())
		}
		names = append(names, p.name())
	}
	if c.RowsPerUnit == 0 || !c.Task.Grouped {
		c.RowsPerUnit = 1
	}
	c.Workers, c.Unit = cmp.Or(c.Workers, runtime.GOMAXPROCS(0)), cmp.Or(c.Unit, "record")
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	return c, nil
}

// Shape returns the public shape of c.Task. A positive c.Records replaces the number of private units.
func (c Config) Shape() Shape {
	s := ShapeOf(c.Task)
	s.Records = cmp.Or(max(0, c.Records), s.Records)
	return s
}

func units(n int) run.Units { return run.Units{N: n, Noun: "private records"} }
