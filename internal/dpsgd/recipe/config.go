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

// Config sets what to train. Task, Delta, Key, Dir and Plans are required.
type Config struct {
	// Task holds the data. Pool rows are used for testing like test rows.
	Task  dataset.Task
	Delta float64 // in (0, 1/number of private units)
	Plans []Plan  // one row each
	Seeds int     // independent runs of each plan; default 1
	Unit  string  // name of the owner of the data of a unit in Task.Private.Units; default "record"
	// RowsPerUnit bounds the number of rows per unit that are trained on, if units have several rows by
	// Task.Grouped: a public number up to dpsgd.MaxRows. A unit still contributes one clipped vector to a
	// step; see [dpsgd.Data]. Of more rows, a unit keeps the rows of least hash under Key. Default 1, the
	// first row of each unit.
	RowsPerUnit int
	// Records is the public number of units: sampling, noise and steps follow from it. By default it is the
	// actual number of private units, which is then made public.
	Records int
	// Shared, if not nil, is the ledger that is charged. There must then be one plan and one seed. The plan
	// may omit both epsilon and noise: the noise is then the least that fits the rest of the ledger.
	Shared *Shared

	// Typical, if not nil, computes figures of a typical record in addition to epsilon.
	Typical *typical.Config

	// Rows, if not nil, is the schema of the rows, fitted on public ones; it is saved with the model.
	Rows *dataset.Schema
	// Format, if not nil, makes the model file instead of the format of [OpenModel]. The same arguments must
	// give the same bytes.
	Format func(m *Model, paid Paid) ([]byte, error)

	Key rng.Key // secret from which all randomness derives
	// Dir holds ledgers and checkpoints, so that an interrupted run can be resumed. It must exist.
	Dir string

	Workers  int             // default GOMAXPROCS
	Cache    *features.Cache // of features, 1.9 GB for all of MNIST; nil computes them every time
	Progress func(Progress)
}

// Paid describes the charge of a model on a ledger, made before the training.
type Paid struct {
	Entry   int64   // first entry in the ledger
	Epsilon float64 // of everything that the ledger covers
	Delta   float64
}

// Progress describes the stage of a run.
type Progress struct {
	Stage       string
	Done, Total int
	Epsilon     float64 // cost of the training so far; 0 if nothing or unknown
}

// ErrConfig is matched by every error about a field of a Config. Nothing has been run then.
var ErrConfig = errors.New("recipe: bad Config")

// Validate reports the first field that is missing or out of range, except Key and Dir. It uses public
// numbers only.
func (c Config) Validate() error {
	_, err := c.withDefaults()
	return err
}

func (c Config) withDefaults() (Config, error) {
	full, err := c.complete()
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return full, nil
}

func (c Config) complete() (Config, error) {
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

// Shape returns the public numbers of the task.
func (c Config) Shape() Shape {
	s := ShapeOf(c.Task)
	s.Records = cmp.Or(max(0, c.Records), s.Records)
	return s
}

// units returns the protected owners of the data.
func units(n int) run.Units { return run.Units{N: n, Noun: "private records"} }
