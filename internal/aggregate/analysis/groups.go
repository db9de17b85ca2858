package analysis

import (
	"context"
	"errors"
	"runtime"

	"github.com/pate-go/pate/internal/parallel"
)

// blockGroups is how many groups are worked on between two sums: it bounds memory, and how
// long a context that ended goes unnoticed.
const blockGroups = 256

// inOrder computes something of every group, on all cores, and hands it to take, group by group in their
// order. So a sum that take forms has the same bits on any number of cores. The function worker is called
// once for each core, and its result is used by one goroutine; results must not depend on which
// groups it was called with before. The error is the first, in the order of groups.
func inOrder[T any](ctx context.Context, groups []group, worker func() (func(i int, g group) (T, error), error), take func(i int, of T)) error {
	compute := make([]func(int, group) (T, error), min(runtime.GOMAXPROCS(0), len(groups)))
	for w := range compute {
		var err error
		if compute[w], err = worker(); err != nil {
			return err
		}
	}
	results, failures := make([]T, blockGroups), make([]error, blockGroups)
	for from := 0; from < len(groups); from += blockGroups {
		block := groups[from:min(from+blockGroups, len(groups))]
		parallel.Each(len(compute), len(block), func(w, i int) {
			if ctx.Err() == nil {
				results[i], failures[i] = compute[w](from+i, block[i])
			}
		})
		if err := errors.Join(ctx.Err(), firstError(failures)); err != nil {
			return err
		}
		for i := range block {
			take(from+i, results[i])
		}
	}
	return nil
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
