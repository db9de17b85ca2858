package experiments

import (
	"context"
	"sync"
	"time"
)

func beside(ctx context.Context, workers int, clock *shared, works ...func(context.Context) error) error {
	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var once sync.Once
	var first error
	run := func(work func(context.Context) error) {
		defer clock.begin()()
		if err := work(ctx); err != nil {
			once.Do(func() { first = err })
			cancel()
		}
	}
	for i, work := range works {
		switch {
		case workers > 1 && i < len(works)-1:
			group.Go(func() { run(work) })
		case workers > 1 || first == nil:
			run(work)
		}
	}
	group.Wait()
	return first
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
