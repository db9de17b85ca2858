// Package parallel distributes work over goroutines.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls f(worker, i) for all 0 <= i < n and returns after all calls. The calls use min(workers, n)
// goroutines, where workers = 0 means GOMAXPROCS. Calls with the same goroutine index `worker` are
// sequential. If min(workers, n) is 1, all calls run in the caller's goroutine, with ascending i.
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
