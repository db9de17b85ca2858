package experiments

import (
	"context"
	"sync"

	"github.com/pate-go/pate/aggregate"
)

// plans are the calibrations of the methods that label the pool at one target, each made once.
type plans struct {
	neighbours map[string]func() (neighbourPlan, error)     // by method
	settings   map[string]func() (aggregate.Setting, error) // of mechanisms on votes, by method
}

// planned returns the point with plans of the compared methods.
func (c point) planned(ctx context.Context) point {
	own := c
	c.plans = &plans{map[string]func() (neighbourPlan, error){}, map[string]func() (aggregate.Setting, error){}}
	for _, m := range neighbourMethods() {
		if c.wants(m) {
			c.plans.neighbours[m] = sync.OnceValues(func() (neighbourPlan, error) { return own.neighbourPlan(ctx, m) })
		}
	}
	for _, m := range voteMethods() {
		if c.wants(m) {
			c.plans.settings[m] = sync.OnceValues(func() (aggregate.Setting, error) { return own.setting(ctx, m) })
		}
	}
	return c
}

// ahead is computed while the first features are read and other work waits for one processor: the hash of
// the task and all calibrations, which follow from the task and public numbers.
type ahead struct {
	points []point
	err    error
	done   chan struct{}
}

// begin starts to compute ahead. stop ends that and waits.
func begin(ctx context.Context, c Config) (a *ahead, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	a = &ahead{done: make(chan struct{})}
	var group sync.WaitGroup
	group.Go(func() {
		defer close(a.done)
		if a.points, a.err = c.points(ctx); a.err != nil {
			return
		}
		for i := range a.points {
			a.points[i] = a.points[i].planned(ctx)
		}
	})
	group.Go(func() {
		c.hash()
		<-a.done
		for _, at := range a.points {
			for _, plan := range at.plans.neighbours {
				_, _ = plan() // its caller handles the error
			}
			for _, setting := range at.plans.settings {
				_, _ = setting()
			}
		}
	})
	return a, func() {
		cancel()
		group.Wait()
	}
}

// wait returns the points with their plans, some of which may still be in the making.
func (a *ahead) wait(ctx context.Context) ([]point, error) {
	select {
	case <-a.done:
		return a.points, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
