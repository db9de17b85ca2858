package recipe

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/features"
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
	// Shared, if not nil, is the ledger that is charged. Then there is one plan and one
	// seed, and the plan may leave out both epsilon and noise: the noise is the least
	// that fits what is left.
	Shared *Shared

	// Bayes, if not nil, asks for figures of a typical record beside epsilon.
	Bayes *Bayes

	// Key is the secret all randomness derives from.
	Key dpsgd.Key
	// Dir keeps ledgers and checkpoints, so that an interrupted run goes on where it
	// stopped. It must exist.
	Dir string

	Workers  int             // default GOMAXPROCS
	Cache    *features.Cache // of features, 1.9 GB of all of MNIST; nil computes them every time
	Progress func(Progress)
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
	shape := ShapeOf(c.Task)
	switch {
	case !(c.Delta > 0) || !(c.Delta < 1/float64(shape.Records)):
		return c, fmt.Errorf("delta %v must be above 0 and below 1/%d, one over the number of private records", c.Delta, shape.Records)
	case c.Seeds < 0:
		return c, fmt.Errorf("seeds %d must be positive", c.Seeds)
	case c.Workers < 0:
		return c, fmt.Errorf("workers %d must be positive", c.Workers)
	case len(c.Plans) == 0:
		return c, errors.New("no plan")
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
	if err := c.Bayes.validate(); err != nil {
		return c, err
	}
	var names []string
	for _, p := range c.Plans {
		if err := p.validate(shape, c.Shared != nil); err != nil {
			return c, err
		}
		trial := p.train(1)
		if _, err := c.Bayes.newTypical(&trial); err != nil {
			return c, err
		}
		if slices.Contains(names, p.name()) {
			return c, fmt.Errorf("%s twice", p.name())
		}
		names = append(names, p.name())
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
