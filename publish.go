package pate

import (
	"context"
	"errors"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/publish"
	"github.com/pate-go/pate/internal/results"
)

// PublishOptions configure [Publish]. Epsilon, Delta, Private and Out are required, and Public or Ranges.
type PublishOptions struct {
	Budget // of all releases. Ledger and Shared are left out: the ledger is a file of Out

	// Out is a folder: what may leave is in its folder public, once all is complete. Its folder private has
	// the ledger, keys and votes, and is as secret as the private rows.
	Out string

	Private, Public dataset.Source
	Reading         dataset.Reading
	// Size is about how many units are private, as may be said in public; 0 if nothing may. The number of
	// teachers follows from it, or sampling and noise of DPSGD, which needs it.
	Size int

	Teachers        int     // default: by Size, or 100
	Learner         string  // of teachers, such as "forest"; default: by the kind of data
	TeacherAccuracy float64 // how often one teacher is right, from public data; 0 if that is not known
	MinAccuracy     float64 // how often labels must be the teachers' plurality; default 0.9

	// Ranges is the file of the declared ranges of all columns, in place of Public: teachers vote on rows
	// drawn from these, or with Marginals from noisy counts of the private rows, which a tenth of the
	// budget pays for.
	Ranges    string
	Marginals bool

	DPSGD       bool // one private model, trained by DP-SGD, in place of teachers
	RowsPerUnit int  // with DPSGD: most rows of a unit to train on; default 1

	DestroySecrets bool // remove keys and votes of a complete run; the ledger stays

	Progress func(stage string, done, total int)
	Say      func(text string) // is called with sentences about the run, which are public
}

// Published describes a publication. Nothing in it is private.
type Published struct {
	Teachers   int    // 0 of one private model
	Mechanism  string // that answered them
	Asked      int    // rows of the pool
	Labels     int    // that were released
	Student    string // kind of model; "" if every query was declined
	Classes    []string
	Epsilon    float64 // of everything in Files, at Delta, rounded up
	Delta      float64
	Releasable bool
	Files      []string // paths
}

// Publish carries out a publication under one ledger: teachers are trained on disjoint parts of the private
// rows and vote on the public ones, as many labels as the budget pays for are released, a student learns
// from them, and a statement states the cost. Everything is planned from public numbers and checked before
// the ledger is charged; where the budget carries no labels that are right often enough the error is a
// [*fault.Error] around a [*plan.NoPlanError].
//
// With the same options a run that was stopped goes on, with the same noise and at no further cost, and a
// complete one is compared with its ledger. A folder of another run is refused with [run.ErrOtherRun].
func Publish(ctx context.Context, o PublishOptions) (Published, error) {
	c := publish.Config{Settings: publish.Settings{Private: o.Private, Public: o.Public, Reading: o.Reading,
		Epsilon: o.Epsilon, Delta: o.Delta, Unit: o.Unit, Seed: o.Seed, Size: o.Size, RowsPerUnit: o.RowsPerUnit,
		Teachers: o.Teachers, Learner: o.Learner, TeacherAccuracy: o.TeacherAccuracy, MinAccuracy: o.MinAccuracy, Ranges: o.Ranges},
		Out: o.Out, DestroySecrets: o.DestroySecrets, Command: "pate.Publish", Progress: o.Progress, Say: o.Say, Warn: o.Warn}
	switch {
	case o.Ledger != "" || o.Shared:
		return Published{}, errors.New("pate: a publication has a ledger of its own, in PublishOptions.Out: leave Ledger and Shared out")
	case o.Marginals && o.Ranges == "":
		return Published{}, errors.New("pate: PublishOptions.Marginals are counts of declared columns: give Ranges")
	case o.Marginals:
		c.Pool = publish.PoolMarginals
	case o.Ranges != "":
		c.Pool = publish.PoolNone
	}
	if o.DPSGD {
		c.Method = publish.DPSGD
	}
	r, err := publish.Run(ctx, c)
	if err != nil {
		return Published{}, explain(err)
	}
	p := Published{Teachers: r.Teachers, Mechanism: r.Mechanism, Asked: r.Asked, Labels: r.Released, Student: r.Student, Classes: r.Classes,
		Epsilon: r.Epsilon, Delta: r.Delta, Releasable: r.Releasable}
	for _, f := range r.Files {
		path, _ := results.Folder(o.Out).Result(r.Releasable, f.Name)
		p.Files = append(p.Files, path)
	}
	_, err = results.Folder(o.Out).Settle()
	return p, err
}
