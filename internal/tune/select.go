package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/rng"
)

// Search describes a search. Law, Settings, Event, Relation and Run are required.
type Search struct {
	Law      Law
	Settings int // their number; each run has one of 0 to Settings-1
	// Event is the worst case of one run of any setting: the outcome and the score.
	Event    accountant.Event
	Relation accountant.Relation // for which Event bounds a run
	// Run makes one run. It is a function of its arguments alone and may be repeated after an interruption.
	Run func(ctx context.Context, r Run) (Outcome, error)
	// Dir is a private folder from which an interrupted search resumes; "" keeps nothing. Its files are
	// secrets.
	Dir string
	// Every, if above 0, lets the search end only at a multiple of Every since it began or resumed: its
	// time then leaks less of the number of runs.
	Every time.Duration
}

// Run is one run of a search.
type Run struct {
	Setting int
	Key     rng.Key // of the run alone
	Dir     string  // to resume from; "" if there is none
}

// Outcome is the result of one run.
type Outcome struct {
	Score  float64 // the largest is best; one that is not a finite number is the worst
	Output []byte
}

// Best is the outcome of the best run.
type Best struct {
	Outcome
	Setting int
}

// ErrSearch is matched by every error about a field of a Search.
var ErrSearch = errors.New("tune: bad Search")

// Validate reports the first field that is missing or out of range.
func (s Search) Validate() error {
	if err := s.Law.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrSearch, err)
	}
	switch {
	case s.Settings < 1:
		return fmt.Errorf("%w: %d settings, at least 1 is needed", ErrSearch, s.Settings)
	case s.Event == nil:
		return fmt.Errorf("%w: Event is missing", ErrSearch)
	case s.Relation == 0:
		return fmt.Errorf("%w: Relation is missing", ErrSearch)
	case s.Run == nil:
		return fmt.Errorf("%w: Run is missing", ErrSearch)
	case s.Every < 0:
		return fmt.Errorf("%w: Every is negative", ErrSearch)
	}
	if err := accountant.Validate(s.Law.Event(s.Event)); err != nil {
		return fmt.Errorf("%w: %w", ErrSearch, err)
	}
	return nil
}

// Select makes the runs and returns the best one; nil if the law drew none. Nothing runs without a
// reservation of Law.Event(Event). The same search with the same key gives the same answer, also after an
// interruption, and repeats only the interrupted run. No error reveals the number of runs.
func Select(ctx context.Context, s Search, r *ledger.Reservation, key rng.Key) (*Best, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if key.IsZero() {
		return nil, fmt.Errorf("%w: the key is empty", ErrSearch)
	}
	// The theorems bound Rényi divergences, and no privacy loss distribution.
	if err := r.Begin(s.Law.Event(s.Event), ledger.Use{Relation: s.Relation, Renyi: true, Secret: key.Releasable()}); err != nil {
		return nil, fmt.Errorf("tune: %w", err)
	}
	began := time.Now()
	key = key.Derive("tune")
	kept, err := s.open(key)
	if err != nil {
		return nil, err
	}
	runs := s.Law.Draw(key.Derive("runs").Stream())
	for i := kept.Done; i < runs; i++ {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("tune: %w", err)
		}
		if err := s.one(ctx, key, kept, i); err != nil {
			return nil, err
		}
		if err := crash.Point(ctx, "run"); err != nil {
			return nil, err
		}
	}
	if err := s.wait(ctx, began); err != nil {
		return nil, err
	}
	if kept.Best == nil {
		return nil, nil
	}
	return &Best{Setting: kept.Best.Setting, Outcome: Outcome{Score: kept.Best.Score, Output: kept.output}}, nil
}

// one makes a run and keeps it if it is the best so far.
func (s Search) one(ctx context.Context, key rng.Key, kept *progress, i int64) error {
	setting := key.Derive("setting", uint64(i)).Stream().Uint64N(uint64(s.Settings))
	run := Run{Setting: int(setting), Key: key.Derive("run", uint64(i))}
	name, err := folderName(run.Key)
	if err != nil {
		return err
	}
	if s.Dir != "" {
		run.Dir = filepath.Join(s.Dir, name)
		if err := kept.onlyFolder(run.Dir); err != nil {
			return err
		}
	}
	out, err := s.Run(ctx, run)
	if err != nil {
		return fmt.Errorf("tune: a run: %w", err)
	}
	if math.IsNaN(out.Score) || math.IsInf(out.Score, 0) {
		out.Score = -math.MaxFloat64
	}
	if kept.Best == nil || out.Score > kept.Best.Score {
		if err := kept.keep(name, Best{out, run.Setting}); err != nil {
			return err
		}
	}
	kept.Done = i + 1
	if err := kept.save(); err != nil {
		return err
	}
	if run.Dir == "" {
		return nil
	}
	return wrapped(os.RemoveAll(run.Dir))
}

// wait returns when the time since began is a multiple of Every.
func (s Search) wait(ctx context.Context, began time.Time) error {
	if s.Every == 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return wrapped(ctx.Err())
	case <-time.After(s.Every - time.Since(began)%s.Every):
		return nil
	}
}
