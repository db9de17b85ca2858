package experiments

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBeside: works meet if there is more than one worker and follow each other otherwise, and the first
// that fails ends the others.
func TestBeside(t *testing.T) {
	met := make(chan struct{})
	err := beside(context.Background(), 2, new(shared),
		func(context.Context) error { met <- struct{}{}; return nil },
		func(context.Context) error { <-met; return nil })
	require.NoError(t, err)

	var running, most atomic.Int32
	one := func(context.Context) error {
		most.Store(max(most.Load(), running.Add(1)))
		running.Add(-1)
		return nil
	}
	require.NoError(t, beside(context.Background(), 1, new(shared), one, one, one))
	require.EqualValues(t, 1, most.Load())

	failure := errors.New("failure")
	err = beside(context.Background(), 2, new(shared),
		func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		func(context.Context) error { return failure })
	require.Equal(t, failure, err)
	err = beside(context.Background(), 1, new(shared), func(context.Context) error { return failure }, func(context.Context) error {
		t.Error("begun after a failure")
		return nil
	})
	require.Equal(t, failure, err)
}

// TestSharedClock: of works beside each other each is counted for its part, so that all together are what
// has passed.
func TestSharedClock(t *testing.T) {
	c := &shared{}
	start := c.now()
	time.Sleep(time.Millisecond)
	require.Zero(t, c.now()-start, "nothing runs")
	wall := time.Now()
	end := c.begin()
	c.looked = wall.Add(-6 * time.Second)
	require.InDelta(t, 6, c.since(start), 1)
	other := c.begin()
	c.looked = time.Now().Add(-6 * time.Second)
	require.InDelta(t, 6+3, c.since(start), 1)
	other()
	c.looked = time.Now().Add(-6 * time.Second)
	require.InDelta(t, 6+3+6, c.since(start), 1)
	end()
}
