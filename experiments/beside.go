package experiments

import (
	"context"
	"sync"
	"time"
)

// beside runs works at the same time, as none keeps all processors busy: the last in the caller's
// goroutine. It returns the first error, which ends the others. With one worker they follow each other.
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

// inTurn returns a function that runs in one goroutine at a time.
func inTurn(report func(Progress)) func(Progress) {
	var mu sync.Mutex
	return func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		report(p)
	}
}

// shared is a clock of concurrent works: while n run, it goes at an n-th of the usual speed, so that each
// is counted for its share of the machine.
type shared struct {
	mu     sync.Mutex
	works  int
	looked time.Time
	passed time.Duration
}

// begin counts one more work, until end is called.
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

// look adds the time since the last look.
func (s *shared) look() {
	now := time.Now()
	if s.works > 0 {
		s.passed += now.Sub(s.looked) / time.Duration(s.works)
	}
	s.looked = now
}

// now returns the passed time; only differences mean something.
func (s *shared) now() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return s.passed
}

// since returns the seconds since start.
func (s *shared) since(start time.Duration) float64 { return (s.now() - start).Seconds() }
