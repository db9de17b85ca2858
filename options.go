package pate

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/run"
)

// Options say what may be spent, and where it is written down. Epsilon, Delta, Ledger and
// Out are required.
type Options struct {
	Epsilon float64 // the budget of the ledger, finite and above 0
	Delta   float64 // far below one over the number of units
	Ledger  string  // path of the ledger that is charged; made if it is not there
	Out     string  // path of what is released: the labels, or the model
	Unit    string  // of a new ledger: whose data one change is; default "record"
	// Shared makes a new ledger one that others may charge later, and what holds for all of
	// them is its budget. By default what one call costs is all that the ledger takes.
	Shared bool
	// Seed, if not nil, makes a repeatable experiment; nothing of it is releasable.
	Seed *uint64
	// Warn, if not nil, is told what a person should know of the files and nothing fails of.
	Warn func(string)

	// Of Label.

	// TeacherAccuracy is how often one teacher is right; 0 if that is not known. The plan, which
	// is released, follows from it, so it must come from public data: from teachers of the same
	// kind and size that were trained on public rows, and never from votes of the private ones.
	TeacherAccuracy float64
	// MinAccuracy is how often labels must be what the plurality says; default 0.9.
	MinAccuracy float64
	// Teachers is their number. It is needed for counts, and confirms that a file with more
	// teachers than queries is not transposed.
	Teachers int
	// Pool names the public records that the queries are; default "pool".
	Pool string
}

// complete fills in defaults.
func (o Options) complete() (Options, error) {
	switch {
	case o.Ledger == "":
		return o, errors.New("pate: Options.Ledger is empty: a release is charged to a file")
	case o.Out == "":
		return o, errors.New("pate: Options.Out is empty: what is released is written there")
	case !(o.MinAccuracy >= 0 && o.MinAccuracy < 1):
		return o, fmt.Errorf("pate: Options.MinAccuracy is %v, want at least 0 and below 1", o.MinAccuracy)
	case !(o.TeacherAccuracy >= 0 && o.TeacherAccuracy < 1):
		return o, fmt.Errorf("pate: Options.TeacherAccuracy is %v, want at least 0 and below 1", o.TeacherAccuracy)
	}
	if o.Unit == "" {
		o.Unit = "record"
	}
	if o.Pool == "" {
		o.Pool = "pool"
	}
	if o.MinAccuracy == 0 {
		o.MinAccuracy = 0.9
	}
	return o, nil
}

// account returns how the ledger is made if it is new.
func (o Options) account() ledger.Config {
	c := ledger.Config{Unit: o.Unit, Relation: accountant.AddRemove, Epsilon: o.Epsilon, Delta: o.Delta, Noise: ledger.SecretNoise}
	if o.Shared {
		c.Mode = ledger.Filter
	}
	if o.Seed != nil {
		c.Noise = ledger.SeededNoise
	}
	return c
}

// expect returns what a ledger that is there must say.
func (o Options) expect() run.Expect {
	return run.Expect{Relation: accountant.AddRemove, Unit: o.Unit, Epsilon: o.Epsilon, Delta: o.Delta}
}
