package training

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/teachers/manifest"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers/votes"
)

// Job describes the teachers to train. Private, Public, Reading and Out are required.
type Job struct {
	Private, Public dataset.Source
	Reading         dataset.Reading
	Rows            *Rows  // the rows, if they are read already; Public may be more rows than those to vote on
	Teachers        int    // 0 means a number derived from Size, or a default
	Size            int    // approximate public number of private units; 0 means not declared
	Learner         string // one of [Learners]; "" means the default for the kind of data
	Features        string // one of features.Names(); "" means the default for the kind of data
	Unit            string // name of the privacy unit; "" means the unit column, or "record"
	Part, Parts     int    // if Parts > 1, only teachers t with t mod Parts = Part are trained
	// Silo is the name of a silo that trains its own teachers. If Silo is set, Private holds only rows of
	// this silo. Then Parts must exceed 1, and each row needs a unit. If Silo is "", Private holds the rows
	// of all teachers.
	Silo string
	Out  string // path of the votes
	// PartsFolder is the folder (mode 0700) for the votes of parts, by default Out + ".parts".
	PartsFolder string
	// Secrets is the folder (mode 0700) for key, salt and unfinished work, by default Out + ".private".
	Secrets string
	// Key, if not zero, seeds the run. The outputs of a seeded run must not be released. By default the key
	// is random.
	Key     rng.Key
	Command string // command line that repeats the job, for the manifest
	Workers int    // 0 means GOMAXPROCS

	Progress func(stage string, done, total int)
	// Say receives public messages for the user.
	Say func(text string)
	// Decided is called after all choices that depend on public rows, and before private rows are read.
	Decided func(*Result)
}

// Rows holds the rows of a [Job]. Teachers vote on all rows of Pool.
type Rows struct {
	Schema  *dataset.Schema
	Pool    dataset.Pool
	Private dataset.Set
}

func (j Job) Count() int {
	n, _ := j.teachers()
	return n
}

func (j Job) withDefaults() (Job, error) {
	switch {
	case j.Private.Path == "" || j.Public.Path == "" || j.Out == "":
		return j, errors.New("training: Job needs Private, Public and Out")
	case j.Teachers < 0 || j.Teachers == 1 || j.Teachers > votes.MaxTeachers:
		return j, fmt.Errorf("training: %d teachers, want 2 to %d", j.Teachers, votes.MaxTeachers)
	case j.Size < 0 || j.Size == 1:
		return j, fmt.Errorf("training: the declared number of private units is %d", j.Size)
	case j.Learner != "" && !slices.Contains(Learners(), j.Learner):
		return j, fmt.Errorf("training: learner %q is not one of %s", j.Learner, strings.Join(Learners(), ", "))
	case j.Features != "" && !slices.Contains(features.Names(), j.Features):
		return j, fmt.Errorf("training: features %q are not one of %s", j.Features, strings.Join(features.Names(), ", "))
	case j.Parts < 0 || j.Part < 0 || j.Part >= max(1, j.Parts):
		return j, fmt.Errorf("training: part %d of %d", j.Part, j.Parts)
	case j.Silo != "" && j.Parts < 2:
		return j, errors.New("training: a silo is a part of the teachers: give its number and the number of parts")
	case j.Silo != "" && j.Reading.CSV.Unit == "" && j.Private.Units == "":
		return j, refuse(j.Private.Path, "is a silo, but its rows have no unit",
			"hashes of the units prove that no unit is in two silos",
			"give the column of units as --unit, or their file as --units")
	}
	if j.Silo != "" {
		if err := manifest.CheckSilo(j.Silo); err != nil {
			return j, err
		}
	}
	for _, in := range []string{j.Private.Path, j.Private.Labels, j.Private.Units, j.Public.Path, j.Public.Labels} {
		if in == "" {
			continue
		}
		if same, err := durable.Same(in, j.Out); err != nil {
			return j, err
		} else if same {
			return j, &fault.Error{File: j.Out, What: "is an input and cannot be overwritten", Fix: "choose another --out"}
		}
	}
	if info, err := os.Stat(filepath.Dir(j.Out)); err != nil || !info.IsDir() {
		return j, &fault.Error{File: j.Out, What: "cannot be created, because its folder does not exist",
			Fix: "create the folder, or choose another --out", Err: err}
	}
	j.Secrets, j.PartsFolder = cmp.Or(j.Secrets, j.Out+".private"), cmp.Or(j.PartsFolder, j.Out+".parts")
	j.Unit, j.Parts = cmp.Or(j.Unit, j.Reading.CSV.Unit, "record"), max(1, j.Parts)
	if j.Progress == nil {
		j.Progress = func(string, int, int) {}
	}
	if j.Say == nil {
		j.Say = func(string) {}
	}
	if j.Decided == nil {
		j.Decided = func(*Result) {}
	}
	return j, nil
}

func refuse(path, what, why, fix string) error {
	return &fault.Error{File: path, What: what, Why: why, Fix: fix}
}

func broken(path, what, why, fix string) error {
	return &fault.Error{File: path, What: what, Why: why, Fix: fix, Check: true}
}
