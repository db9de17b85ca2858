package compare

import (
	"fmt"
	"path/filepath"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/experiments"
)

// poolRows is a pool of public rows, which is not drawn.
const poolRows = "rows"

// pools lists what --pool takes.
func pools() []string { return []string{poolRows, experiments.PoolNone, experiments.PoolMarginals} }

// drawnPool reports whether there are no public rows.
func (f compareFlags) drawnPool() bool { return f.pool != poolRows }

// task opens the data, with the declared ranges of their columns where no row is public.
func (f compareFlags) task() (dataset.Task, error) {
	switch {
	case f.drawnPool() && f.ranges == "":
		return dataset.Task{}, &shell.CommandError{Code: shell.ExitUsage, What: fmt.Errorf("--pool %s without --ranges", f.pool),
			Why: "without public rows the values of every column are known from what you declare alone, never from private rows",
			Fix: "declare them: --ranges FILE, a line like age,17..90 or sex,Female,Male for each column", Topic: "data"}
	case !f.drawnPool() && f.ranges != "":
		return dataset.Task{}, shell.UsageError("data", fmt.Errorf("--ranges %s is for --pool %s or %s", f.ranges, experiments.PoolNone,
			experiments.PoolMarginals))
	}
	opt, err := f.Options()
	if err != nil {
		return dataset.Task{}, err
	}
	if f.drawnPool() {
		if opt.Ranges, err = dataset.ReadRanges(f.ranges); err != nil {
			return dataset.Task{}, shell.FaultError(err, "data")
		}
	}
	return f.TaskOf(opt)
}

// poolIdentity names the pool that a run is a function of; both are empty for public rows.
func (f compareFlags) poolIdentity() (pool, ranges string, err error) {
	if !f.drawnPool() {
		return "", "", nil
	}
	ranges, err = filepath.Abs(f.ranges)
	if err != nil {
		return "", "", fmt.Errorf("where is %s: %w", f.ranges, err)
	}
	return f.pool, ranges, nil
}
