package tuned

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/tune"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

const relation = accountant.AddRemove

// Config configures a search. Task, Delta, Base, Settings and Law are required. [Run] also requires Key and
// Dir.
type Config struct {
	// Task holds the data. The accuracy of the chosen model is measured on Task.Test.
	Task  dataset.Task
	Delta float64 // in (0, 1/number of private units)
	// Epsilon is the budget of the whole search. With a shared ledger, 0 means the ledger's remaining budget.
	Epsilon float64
	// Records is the public number of private units, including the units that score settings. By default, the
	// run uses and publishes the actual number.
	Records  int
	Unit     string        // name of the protected unit; default "record"
	Base     recipe.Recipe // base of all settings
	Settings []Setting
	Law      tune.Law
	// Private selects private units for scoring models. If Private is nil, Task.Pool is used.
	Private *Private
	// Shared is the ledger to charge, or nil to charge the run's own ledger.
	Shared *recipe.Shared
	// Every, if above 0, delays the end of a successful search to a multiple of Every (see [tune.Search]).
	Every time.Duration

	Key     rng.Key // secret; all randomness derives from it
	Dir     string  // existing folder for ledger, model and the state of an interrupted run
	Workers int
	Cache   *features.Cache
}

// Private describes the private units that score settings.
type Private struct {
	Share float64 // fraction of the units that choose, in (0, 1); the rest is for training
	Sigma float64 // of the discrete Gaussian noise on the number of correct predictions
}

// ErrConfig matches every error about a field of a [Config]. Run returns such an error before it does
// anything.
var ErrConfig = errors.New("tuned: bad Config")

// ErrCostsDiffer reports settings with different privacy costs.
var ErrCostsDiffer = errors.New("tuned: settings cost differently")

// DefaultPrivate returns a Private with Share 0.2 and Sigma max(10, sqrt(records/5)/2), rounded up. With this
// Sigma, a score costs almost nothing compared with a training.
func DefaultPrivate(records int) *Private {
	const share = 0.2
	return &Private{Share: share, Sigma: math.Max(10, math.Ceil(math.Sqrt(share*float64(records))/2))}
}

type job struct {
	Config
	inner  dataset.Task // training task; its Test scores rows during training
	choose dataset.Set  // rows that choose a setting
	shape  recipe.Shape // of inner
	plans  []recipe.Plan
}

// Validate returns an error for a missing or invalid field, but ignores Key and Dir. It reads only public
// numbers.
func (c Config) Validate() error {
	_, err := c.newJob()
	return err
}

func (c Config) newJob() (_ *job, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrConfig, err)
		}
	}()
	c.Unit = cmp.Or(c.Unit, "record")
	found := recipe.ShapeOf(c.Task).Records
	switch p := c.Private; {
	case c.Records < 0 || c.Records > math.MaxInt32:
		return nil, fmt.Errorf("records %d must be positive", c.Records)
	case found == 0:
		return nil, errors.New("no private records in Task")
	case c.Task.Test.Len() == 0:
		return nil, errors.New("no test rows in Task")
	case !(c.Epsilon >= 0 && c.Epsilon <= math.MaxFloat64), c.Epsilon == 0 && c.Shared == nil:
		return nil, fmt.Errorf("epsilon %v must be finite and above 0", c.Epsilon)
	case c.Shared != nil && c.Shared.Account.Relation != relation:
		return nil, fmt.Errorf("the ledger is for relation %v; DP-SGD is accounted for %v only", c.Shared.Account.Relation, relation)
	case c.Every < 0:
		return nil, fmt.Errorf("the field Every is %v and must not be negative", c.Every)
	case c.Task.Pool.Len() == 0:
		return nil, errors.New("no rows in Task.Pool")
	case p != nil && !(p.Share > 0 && p.Share < 1):
		return nil, fmt.Errorf("Private.Share %v: must be above 0 and below 1", p.Share)
	}
	units := run.Units{N: cmp.Or(c.Records, found), Noun: "private records"}
	if err := errors.Join(units.Check(c.Delta), c.Law.Validate()); err != nil {
		return nil, err
	}
	settings, err := checked(c.Settings)
	if err != nil {
		return nil, err
	}
	j := &job{Config: c, inner: c.Task}
	j.inner.Private = c.Task.Private.OnePerUnit()
	if c.Private != nil {
		j.inner.Private, j.choose = split(j.inner.Private, c.Private.Share)
	} else {
		j.choose = c.Task.Pool
	}
	j.inner.Test, j.inner.Pool = c.Task.Pool, dataset.Set{}
	j.shape = recipe.ShapeOf(j.inner)
	if j.shape.Records == 0 {
		return nil, errors.New("no private records are left to train on")
	}
	if c.Records > 0 {
		j.shape.Records = j.declared()
	}
	for i, s := range settings {
		p := recipe.Plan{Recipe: s.apply(c.Base), NoiseMultiplier: 1}
		if err := p.Recipe.Validate(j.shape); err != nil {
			return nil, fmt.Errorf("setting %d: %w", i+1, err)
		}
		j.plans = append(j.plans, p)
	}
	return j, j.costAlike()
}

func (j *job) declared() int {
	if j.Records == 0 || j.Private == nil {
		return j.Records
	}
	return max(1, int(math.Round(float64(j.Records)*(1-j.Private.Share))))
}

func (j *job) costAlike() error {
	for _, noise := range []float64{1, 3} {
		var first []byte
		for i, p := range j.plans {
			text, err := accountant.MarshalEvent(p.Event(noise))
			if err != nil {
				return err
			}
			if i == 0 {
				first = text
			}
			if string(text) != string(first) {
				return fmt.Errorf("%w: %s is %s, and %s is %s", ErrCostsDiffer, j.Settings[0], first, j.Settings[i], text)
			}
		}
	}
	return nil
}

func (j *job) event(noise float64) (accountant.Event, error) {
	e := j.plans[0].Event(noise)
	if j.Private != nil {
		score := accountant.DiscreteGaussian{Sigma: j.Private.Sigma, Sensitivity: 1} // a unit has one row
		e = accountant.Composed{Events: []accountant.Event{e, score}}
	}
	return e, accountant.Validate(e)
}

// Quote returns the cost of a search with budget c.Epsilon, from public numbers alone. It charges nothing.
func (c Config) Quote(ctx context.Context) (tune.Price, error) {
	j, err := c.newJob()
	if err != nil {
		return tune.Price{}, err
	}
	return j.quote(ctx)
}

func (j *job) quote(ctx context.Context) (tune.Price, error) {
	p, err := tune.PriceOf(ctx, j.Law, relation, accountant.Target{Epsilon: j.Epsilon, Delta: j.Delta}, j.event)
	if errors.Is(err, accountant.ErrNoBracket) {
		return p, fmt.Errorf("%w: %w", recipe.ErrBudget, err)
	}
	return p, err
}

// split puts each unit into train or choose by a public hash of the unit's name alone. So the place of a unit
// does not depend on other units.
func split(s dataset.Set, share float64) (train, choose dataset.Set) {
	empty := s
	empty.Y, empty.Units, empty.IDs, empty.LeftOut = nil, nil, nil, nil
	empty.X = blas32.General{Cols: s.X.Cols, Stride: s.X.Cols}
	train, choose = empty, empty
	part := func(unit string) *dataset.Set {
		sum := sha256.Sum256([]byte("pate tune validation 1\x00" + unit))
		if float64(binary.BigEndian.Uint64(sum[:])>>11)/(1<<53) < share {
			return &choose
		}
		return &train
	}
	for _, unit := range s.LeftOut {
		to := part(unit)
		to.LeftOut = append(to.LeftOut, unit)
	}
	for i, unit := range s.Units {
		to := part(unit)
		to.X.Rows++
		to.X.Data = append(to.X.Data, s.X.Data[i*s.X.Stride:i*s.X.Stride+s.X.Cols]...)
		to.Y, to.Units, to.IDs = append(to.Y, s.Y[i]), append(to.Units, unit), append(to.IDs, s.IDs[i])
	}
	return train, choose
}
