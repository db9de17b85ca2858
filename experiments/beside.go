package experiments

import (
	"context"
	"sync"
	"time"
)

// beside runs works beside each other, as none of them keeps all processors busy all the time: the last in
// the caller's goroutine. It returns the first error, which ends the others. With one worker they follow
// each other.
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

// inTurn returns a function that is called by one goroutine at a time, whoever calls it.
func inTurn(report func(Progress)) func(Progress) {
	var mu sync.Mutex
	return func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		report(p)
	}
}

// shared is a clock of works that run beside each other: while n of them do, it goes at an n-th of the
// usual speed, so that each is counted for its share of the machine and none twice.
type shared struct {
	mu     sync.Mutex
	works  int
	looked time.Time
	passed time.Duration
}

// begin says that one more work runs, until the function that it returns is called.
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

// look lets the time pass that went by since the last look.
func (s *shared) look() {
	now := time.Now()
	if s.works > 0 {
		s.passed += now.Sub(s.looked) / time.Duration(s.works)
	}
	s.looked = now
}

// now returns how much time has passed, of which only differences say something.
func (s *shared) now() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return s.passed
}

// since returns the seconds that have passed since a time of now.
func (s *shared) since(start time.Duration) float64 { return (s.now() - start).Seconds() }
