package parallel

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEach(t *testing.T) {
	for _, c := range []struct{ workers, n int }{{0, 100}, {1, 5}, {3, 1000}, {8, 3}, {4, 0}, {0, 1}} {
		calls, busy := make([]int, c.n), make([]atomic.Bool, max(1, c.n))
		Each(c.workers, c.n, func(worker, i int) {
			if !busy[worker].CompareAndSwap(false, true) {
				t.Errorf("two calls of worker %d at once", worker)
			}
			if c.workers > 0 && worker >= c.workers {
				t.Errorf("worker %d of %d", worker, c.workers)
			}
			calls[i]++
			busy[worker].Store(false)
		})
		for i, n := range calls {
			require.Equal(t, 1, n, "%d of %+v", i, c)
		}
	}
	var order []int
	Each(1, 4, func(_, i int) { order = append(order, i) })
	require.Equal(t, []int{0, 1, 2, 3}, order)
}
