package experiments

import (
	"context"
	"sync"
	"time"

	"github.com/pate-go/pate/internal/parallel"
)

// beside runs works on at most the given number of goroutines. After a failure it begins no further work.
func beside(ctx context.Context, workers int, clock *shared, works ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parallel.Each(max(workers, 1), len(works), func(_, i int) {
		if ctx.Err() != nil {
			return
		}
		defer clock.begin()()
		if err := works[i](ctx); err != nil {
			cancel(err)
		}
	})
	return context.Cause(ctx)
}

func inTurn(report func(Progress)) func(Progress) {
	var mu sync.Mutex
	return func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		report(p)
	}
}

type shared struct {
	mu     sync.Mutex
	works  int
	looked time.Time
	passed time.Duration
}

func (s *shared) begin() (end func()) {
	s.change(1)
	return func() { s.change(-1) }
}

func (s *shared) change(by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	s.works += by
}

func (s *shared) look() {
	now := time.Now()
	if s.works > 0 {
		s.passed += now.Sub(s.looked) / time.Duration(s.works)
	}
	s.looked = now
}

func (s *shared) now() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return s.passed
}

func (s *shared) since(start time.Duration) float64 { return (s.now() - start).Seconds() }
