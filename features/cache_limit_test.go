package features

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dataset"
)

// What was used longest ago makes room, and nothing else in the folder is touched.
func TestCacheKeepsWithinItsLimit(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	set := randomSet(10, dataset.Shape{Rows: 3, Cols: 4})
	var calls atomic.Int64
	size := fileSize(floatRows{matrixOf(10, 12, 12)})
	c := Cache{Dir: dir, Limit: 2*size + 1, Warn: func(err error) { require.NoError(t, err) }}
	other := filepath.Join(dir, "other.txt")
	require.NoError(t, os.WriteFile(other, make([]byte, 5*size), 0o600))
	use := func(plus float32) (computed bool) {
		calls.Store(0)
		_, err := c.Apply(ctx, set, counting{calls: &calls, plus: plus}, 1)
		require.NoError(t, err)
		return calls.Load() > probes
	}
	age := func() { // all files were used some hours ago, in the order in which they were
		files, err := filepath.Glob(filepath.Join(dir, "*"+extension))
		require.NoError(t, err)
		for _, f := range files {
			info, err := os.Stat(f)
			require.NoError(t, err)
			before := info.ModTime().Add(-time.Hour)
			require.NoError(t, os.Chtimes(f, before, before))
		}
	}
	for _, step := range []struct {
		plus     float32
		computed bool
	}{{1, true}, {2, true}, {1, false}, {3, true}, {1, false}, {3, false}, {2, true}, {3, false}, {1, true}} {
		require.Equal(t, step.computed, use(step.plus), step)
		age()
	}
	require.FileExists(t, other)
	c.Limit = size - 1
	require.True(t, use(4))
	require.True(t, use(4), "too large to be kept")
}

func TestCachesThatMakeRoomAtOnce(t *testing.T) {
	set := randomSet(300, dataset.Shape{Rows: 3, Cols: 4})
	var calls atomic.Int64
	dir, size := t.TempDir(), fileSize(floatRows{matrixOf(300, 12, 12)})
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 20 {
				e := counting{calls: &calls, plus: float32((g + i) % 5)}
				c := Cache{Dir: dir, Limit: 2 * size, Warn: func(err error) { t.Error(err) }}
				x, err := c.Apply(context.Background(), set, e, 1)
				if err != nil || x.Data[5] != 2*set.X.Data[5]+e.plus {
					t.Error("other features", err)
				}
			}
		})
	}
	group.Wait()
}
