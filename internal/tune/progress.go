package tune

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// progress is the state of a search. On disk it names the file of the best output, which is written before
// it; so the two never disagree.
type progress struct {
	ID   string `json:"id"`
	Done int64  `json:"done"` // runs that are over
	Best *found `json:"best,omitempty"`

	dir    string
	output []byte // of the best run
}

// found is the best run so far.
type found struct {
	Setting int     `json:"setting"`
	Score   float64 `json:"score"`
	File    string  `json:"file,omitempty"` // of the output, in the folder
}

// Names in the folder of a search. Names of runs are pseudorandom, so that no path, and no error with a
// path, reveals the number of runs.
const (
	stateFile    = "search.json"
	folderPrefix = "run-"
	bestPrefix   = "best-"
)

// folderName returns the name of a run's folder.
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

// open returns the state of the search in the folder.
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
	durable.SweepFolder(s.Dir) // of processes that were killed: the folder is ours
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

// onlyFolder makes or finds the folder of a run, and removes the folders of others, which a killed process
// left.
func (p *progress) onlyFolder(path string) error {
	if err := p.remove(folderPrefix, filepath.Base(path)); err != nil {
		return err
	}
	return wrapped(durable.PrivateFolder(path))
}

// wrapped returns err as an error of this package, nil if it is nil.
func wrapped(err error) error {
	if err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	return nil
}

// remove removes the files with this prefix from the folder, but for one name.
func (p *progress) remove(prefix, but string) error {
	entries, err := os.ReadDir(p.dir)
	for _, e := range entries {
		if err == nil && strings.HasPrefix(e.Name(), prefix) && e.Name() != but {
			err = os.RemoveAll(filepath.Join(p.dir, e.Name()))
		}
	}
	return wrapped(err)
}

// keep takes a run, named by its folder, for the best so far.
func (p *progress) keep(folder string, b Best) error {
	p.Best, p.output = &found{Setting: b.Setting, Score: b.Score}, b.Output
	if p.dir == "" {
		return nil
	}
	p.Best.File = bestPrefix + strings.TrimPrefix(folder, folderPrefix)
	return wrapped(durable.WriteBytes(filepath.Join(p.dir, p.Best.File), 0o600, b.Output))
}

// save writes the state, and removes the output that it no longer names.
func (p *progress) save() error {
	if p.dir == "" {
		return nil
	}
	if err := run.WriteState(filepath.Join(p.dir, stateFile), p); err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	return p.remove(bestPrefix, p.Best.File)
}
