package pate

import (
	"cmp"
	"context"
	"errors"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/publish"
	"github.com/pate-go/pate/internal/results"
)

// PublishOptions configures [Publish]. Epsilon, Delta, Private, Out and either Public or Ranges are required.
type PublishOptions struct {
	Budget // budget of all releases; Ledger and Shared must be empty, because the ledger is a file of Out

	// Out is the folder of the results. When the run is complete, the folder Out/public may be published. The
	// folder Out/private holds the ledger, keys and votes, and needs the same protection as the private rows.
	Out string

	Private, Public dataset.Source
	Reading         dataset.Reading
	// Method is the way to learn from private rows. For "nearest", every unit votes on its nearest public
	// rows. For "sample", the nearest units of a random sample vote. For "pate", teachers vote. For "dpsgd",
	// one linear model is trained. The default "auto" means "pate" if Teachers, Learner, TeacherAccuracy or
	// MinAccuracy is set. Otherwise, "auto" means "nearest" if Ranges is set. If Public is set instead,
	// Publish chooses the method by public numbers, such as Size and Epsilon.
	Method string
	// Size is the approximate number of private units, or 0 if this number is secret. For "pate", Size
	// determines the number of teachers. All other methods require Size, which determines the noise and the
	// sampling.
	Size int

	Teachers        int     // default: computed from Size, or 100
	Learner         string  // kind of teacher, such as "forest"; default: depends on the kind of data
	TeacherAccuracy float64 // accuracy of one teacher, from public data; 0 if unknown
	MinAccuracy     float64 // least fraction of labels that must equal the teachers' plurality; default 0.9

	// Ranges is a file that declares the ranges of all columns, if there are no public rows. Queries are
	// drawn from these ranges. If Pool is "marginals", queries are drawn from noisy counts of single columns
	// of the private rows. If Pool is "tree", noisy counts of pairs of columns are used too. Noisy counts
	// take a part of the budget. By default Pool is "none", and no counts are used.
	Ranges string
	Pool   string

	Group string // category column of Public: the statement has the accuracy in each of its groups

	RowsPerUnit int // with "dpsgd": maximum number of training rows per unit; default 1

	DestroySecrets bool // remove keys and votes of a complete run; the ledger stays

	Progress func(stage string, done, total int)
	Say      func(text string) // called with sentences about the run, which are public
}

// Published describes a publication. All fields are public.
type Published struct {
	Method     string // the chosen method
	Teachers   int    // for "pate"
	Mechanism  string // mechanism that answered the queries
	Asked      int    // number of rows of the pool
	Labels     int    // number of released labels
	Student    string // kind of model; "" if every query was declined
	Classes    []string
	Epsilon    float64 // cost of everything in Files, at Delta, rounded up
	Delta      float64
	Releasable bool
	Files      []string // paths of the published files
}

// Publish carries out a publication with one ledger. The labels of public rows come from votes of nearby
// private units, or of teachers with disjoint partitions of the private rows. Publish releases as many
// labels as the budget allows, trains a student on these labels, and writes a privacy statement. For
// method "dpsgd", Publish trains one private model instead. The plan depends only on public numbers.
// Publish checks the plan before the ledger is charged. If no plan gives enough labels with MinAccuracy,
// Publish returns a [*fault.Error] that wraps a [*plan.NoPlanError].
//
// A second call with the same options resumes an interrupted run, with the same noise and at no further
// cost. For a complete run, Publish compares the files with the ledger. If o.Out contains a different
// run, the error is [run.ErrOtherRun].
func Publish(ctx context.Context, o PublishOptions) (Published, error) {
	c := publish.Config{Settings: publish.Settings{Private: o.Private, Public: o.Public, Reading: o.Reading,
		Epsilon: o.Epsilon, Delta: o.Delta, Unit: o.Unit, Seed: o.Seed, Method: o.Method,
		Size: o.Size, RowsPerUnit: o.RowsPerUnit,
		Teachers: o.Teachers, Learner: o.Learner, TeacherAccuracy: o.TeacherAccuracy, MinAccuracy: o.MinAccuracy, Ranges: o.Ranges, Group: o.Group},
		Out: o.Out, DestroySecrets: o.DestroySecrets, Command: "pate.Publish", Progress: o.Progress, Say: o.Say, Warn: o.Warn}
	switch {
	case o.Ledger != "" || o.Shared:
		return Published{}, errors.New("pate: a publication has its own ledger in PublishOptions.Out: leave Ledger and Shared empty")
	case o.Pool != "" && o.Ranges == "":
		return Published{}, errors.New("pate: PublishOptions.Pool needs Ranges, because rows are drawn from declared columns")
	case o.Ranges != "":
		c.Pool = cmp.Or(o.Pool, publish.PoolNone)
	}
	r, err := publish.Run(ctx, c)
	if err != nil {
		return Published{}, explain(err, nil)
	}
	p := Published{Method: r.Method, Teachers: r.Teachers, Mechanism: r.Mechanism, Asked: r.Asked, Labels: r.Released,
		Student: r.Student, Classes: r.Classes, Epsilon: r.Epsilon, Delta: r.Delta, Releasable: r.Releasable}
	for _, f := range r.Files {
		path, _ := results.Folder(o.Out).Result(r.Releasable, f.Name)
		p.Files = append(p.Files, path)
	}
	_, err = results.Folder(o.Out).Settle()
	return p, err
}
