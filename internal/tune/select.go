package tune

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// Search configures [Select]. Law, Settings, Event, Relation and Run are required.
type Search struct {
	Law      Law
	Settings int // number of settings; the setting of a run is a number from 0 to Settings-1
	// Event is the event of one run, for every setting. If scores use private rows, Event must include
	// the cost of the scores.
	Event    accountant.Event
	Relation accountant.Relation // for which Event holds
	// Run makes one run, whose result must depend only on the arguments. After an interruption, Run may be
	// called again with the same arguments.
	Run func(ctx context.Context, r Run) (Outcome, error)
	// Dir is a private folder for resuming an interrupted search, or "". The files in Dir are secret.
	Dir string
	// Every, if above 0, delays the end of a successful Select to a multiple of Every. The running time then
	// reveals less about the number of runs.
	Every time.Duration
}

// Run holds the arguments of one run of a search.
type Run struct {
	Setting int
	Key     rng.Key // used only by this run
	Dir     string  // folder to resume from; "" if there is none
}

type Outcome struct {
	Score  float64 // largest is best; a score that is not finite is worst
	Output []byte
}

type Best struct {
	Outcome
	Setting int
}

// ErrSearch matches every error about a field of a [Search].
var ErrSearch = errors.New("tune: bad Search")

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

// Select performs the search and returns the best run, or nil if the drawn number of runs is 0. The
// reservation r must be for s.Law.Event(s.Event). Equal searches with equal keys give equal results. With
// s.Dir, an interrupted search resumes at the interrupted run. No error reveals the number of runs.
func Select(ctx context.Context, s Search, r *ledger.Reservation, key rng.Key) (*Best, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if key.IsZero() {
		return nil, fmt.Errorf("%w: the key is empty", ErrSearch)
	}
	// The theorems bound Rényi divergences, not privacy loss distributions.
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

// progress is the stored state of a search. The output of the best run is written before the state that names
// its file.
type progress struct {
	ID   string `json:"id"`
	Done int64  `json:"done"` // number of finished runs
	Best *found `json:"best,omitempty"`

	dir    string
	output []byte // of the best run
}

type found struct {
	Setting int     `json:"setting"`
	Score   float64 `json:"score"`
	File    string  `json:"file,omitempty"` // name of the output file in the folder
}

// Names of folders and of output files are pseudorandom, to hide the number of runs.
const (
	stateFile    = "search.json"
	folderPrefix = "run-"
	bestPrefix   = "best-"
)

func folderName(run rng.Key) (string, error) {
	text, err := run.Derive("folder").MarshalText()
	if err != nil {
		return "", fmt.Errorf("tune: %w", err)
	}
	sum := sha256.Sum256(text)
	return folderPrefix + hex.EncodeToString(sum[:8]), nil
}

func (s Search) identify(key rng.Key) (string, error) {
	event, err := accountant.MarshalEvent(s.Law.Event(s.Event))
	if err != nil {
		return "", fmt.Errorf("tune: %w", err)
	}
	return folderName(key.DeriveBytes("search", fmt.Appendf(nil, "%d %s", s.Settings, event)))
}

func (s Search) open(key rng.Key) (*progress, error) {
	id, err := s.identify(key)
	if err != nil {
		return nil, err
	}
	if s.Dir == "" {
		return &progress{ID: id}, nil
	}
	if err := durable.PrivateFolder(s.Dir); err != nil {
		return nil, fmt.Errorf("tune: %w", err)
	}
	durable.SweepFolder(s.Dir) // files of killed processes; only this search uses the folder
	kept := &progress{ID: id, dir: s.Dir}
	err = run.ReadState(filepath.Join(s.Dir, stateFile), id, kept)
	if err == nil && kept.Best != nil {
		kept.output, err = os.ReadFile(filepath.Join(s.Dir, filepath.Base(kept.Best.File)))
	}
	if err != nil {
		return nil, fmt.Errorf("tune: %w", err)
	}
	return kept, nil
}

func (p *progress) onlyFolder(path string) error {
	if err := p.remove(folderPrefix, filepath.Base(path)); err != nil {
		return err
	}
	return wrapped(durable.PrivateFolder(path))
}

func wrapped(err error) error {
	if err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	return nil
}

func (p *progress) remove(prefix, but string) error {
	entries, err := os.ReadDir(p.dir)
	for _, e := range entries {
		if err == nil && strings.HasPrefix(e.Name(), prefix) && e.Name() != but {
			err = os.RemoveAll(filepath.Join(p.dir, e.Name()))
		}
	}
	return wrapped(err)
}

func (p *progress) keep(folder string, b Best) error {
	p.Best, p.output = &found{Setting: b.Setting, Score: b.Score}, b.Output
	if p.dir == "" {
		return nil
	}
	p.Best.File = bestPrefix + strings.TrimPrefix(folder, folderPrefix)
	return wrapped(durable.WriteBytes(filepath.Join(p.dir, p.Best.File), 0o600, b.Output))
}

func (p *progress) save() error {
	if p.dir == "" {
		return nil
	}
	if err := run.WriteState(filepath.Join(p.dir, stateFile), p); err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	return p.remove(bestPrefix, p.Best.File)
}
