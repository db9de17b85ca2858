package analysis

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// blockGroups is how many groups are worked on between two sums: it bounds memory, and how
// long a context that ended goes unnoticed.
const blockGroups = 256

// inOrder computes something of every group, on all cores, and hands it to take, group by
// group in their order. So a sum that take forms has the same bits on any number of cores.
// The function worker is called once for each core, and what it returns is used by one
// goroutine; results must not depend on which groups it was called with before. The error is
// that of the first group that has one.
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
		var next atomic.Int64
		var wait sync.WaitGroup
		for _, of := range compute {
			wait.Go(func() {
				// Numbers are handed out in order: before one that fails, all are computed.
				for i := int(next.Add(1)) - 1; i < len(block) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
					results[i], failures[i] = of(from+i, block[i])
					if failures[i] != nil {
						return
					}
				}
			})
		}
		wait.Wait()
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
