// Package parallel distributes work over goroutines.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls f(worker, i) for all i below n from the given number of goroutines, at most n (0: GOMAXPROCS),
// and returns after all calls. A worker is an index below the number of goroutines; its calls are sequential.
// With one goroutine all calls are in the caller's, and i ascends.
func Each(workers, n int, f func(worker, i int)) {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, n)
	if workers <= 1 {
		for i := range n {
			f(0, i)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(w, int(i))
			}
		})
	}
	group.Wait()
}
