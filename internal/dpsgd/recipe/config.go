package recipe

import (
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

// Config says what to train. Task, Delta, Key, Dir and Plans are required.
type Config struct {
	// Task is the data. Pool rows score as test rows do: nothing is asked of them.
	Task  dataset.Task
	Delta float64 // in (0, 1/number of private units)
	Plans []Plan  // a row each
	Seeds int     // independent runs of each plan; default 1
	// Unit says in a word whose data Task.Private.Units name; default "record".
	Unit string
	// RowsPerUnit is how many rows of a unit are trained on at most, where Task.Grouped says
	// that units have several: a public number up to dpsgd.MaxRows. A unit's share of a step
	// is one clipped vector all the same; see [dpsgd.Data]. With more rows than that, a unit
	// keeps those of least hash under Key. Default 1, the first row of each unit.
	RowsPerUnit int
	// Records is how many units there are, as may be said in public: sampling, noise and
	// steps follow from it. Default: the number of private units, which is then made public.
	Records int
	// Shared, if not nil, is the ledger that is charged. Then there is one plan and one
	// seed, and the plan may leave out both epsilon and noise: the noise is the least
	// that fits what is left.
	Shared *Shared

	// Typical, if not nil, asks for figures of a typical record beside epsilon.
	Typical *typical.Config

	// Rows, if not nil, is how rows were read, by public ones; it stays with the model.
	Rows *dataset.Schema
	// Format, if not nil, makes the file of a model, in place of the one that [OpenModel]
	// reads. The same arguments must give the same bytes.
	Format func(m *Model, paid Paid) ([]byte, error)

	// Key is the secret all randomness derives from.
	Key rng.Key
	// Dir keeps ledgers and checkpoints, so that an interrupted run goes on where it
	// stopped. It must exist.
	Dir string

	Workers  int             // default GOMAXPROCS
	Cache    *features.Cache // of features, 1.9 GB of all of MNIST; nil computes them every time
	Progress func(Progress)
}

// Paid says what a ledger was charged for a model, before it was trained.
type Paid struct {
	Entry   int64   // the first of the ledger
	Epsilon float64 // of all that the ledger covers
	Delta   float64
}

// Progress is where a run is.
type Progress struct {
	Stage       string
	Done, Total int
	Epsilon     float64 // what the training has cost so far; 0 if nothing or unknown
}

// ErrConfig is matched by every error about a field of a Config; nothing was run.
var ErrConfig = errors.New("recipe: bad Config")

// Validate reports the first field that is missing or out of range, Key and Dir
// apart. Everything it looks at is public.
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
	if c.Seeds == 0 {
		c.Seeds = 1
	}
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
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Unit == "" {
		c.Unit = "record"
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	return c, nil
}

// Shape returns what is public about the task.
func (c Config) Shape() Shape {
	s := ShapeOf(c.Task)
	if c.Records > 0 {
		s.Records = c.Records
	}
	return s
}

// units are those whose data are protected.
func units(n int) run.Units { return run.Units{N: n, Noun: "private records"} }
