// Package results divides a folder of results into a public and a private half.
//
// DIR/public contains exactly the files that may be published: charged files with secret noise, without paths
// of this machine, times of work on private rows or private numbers. Everything else is in DIR/private, which
// only its owner can open: keys, votes, charged ledgers, the configuration of the run and, in
// DIR/private/results, the results that must not be published, such as results of a seeded run.
package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
)

// Folder is the path of a folder of results.
type Folder string

// Public returns the path of a file that may be published.
func (f Folder) Public(names ...string) string { return f.join("public", names) }

// Private returns the path of a file that must not be published.
func (f Folder) Private(names ...string) string { return f.join("private", names) }

// Result returns the path of a result and its mode.
func (f Folder) Result(releasable bool, names ...string) (string, os.FileMode) {
	if releasable {
		return f.Public(names...), 0o644
	}
	return f.join(filepath.Join("private", "results"), names), 0o600
}

func (f Folder) join(half string, names []string) string {
	return filepath.Join(append([]string{string(f), half}, names...)...)
}

// Config returns the path of the configuration of the run, which is the first file written after the key.
func (f Folder) Config() string { return f.Private("config.json") }

// Strangers returns the files in both halves if no run has begun there: they belong to another user, or to a
// run whose configuration is gone.
func (f Folder) Strangers() (paths []string, err error) {
	begun, err := durable.Exists(f.Config())
	if err != nil || begun {
		return nil, err
	}
	first := []string{f.Private("run.key")}
	if is, err := os.Lstat(f.Private("lock")); err == nil && is.Mode().IsRegular() && is.Size() == 0 {
		first = append(first, f.Private("lock"))
	}
	for _, half := range []string{f.Public(), f.Private()} {
		err := filepath.WalkDir(half, func(at string, e fs.DirEntry, err error) error {
			unnamed := strings.HasPrefix(filepath.Base(at), ".") && filepath.Ext(at) == ".tmp" // a process is writing it
			if err == nil && !e.IsDir() && !unnamed && !slices.Contains(first, at) {
				paths = append(paths, at)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("results: %w", err)
		}
	}
	if begun, err = durable.Exists(f.Config()); err != nil || begun { // by another process, meanwhile
		return nil, err
	}
	return paths, nil
}

// ErrReleased is matched by the refusal of a second release if an earlier release is found.
var ErrReleased = errors.New("results: something was released")

// Released returns this refusal for a file, with the evidence that it belongs to another run.
func Released(path, but string) error {
	return &fault.Error{What: fmt.Sprintf("%s was released, and %s", path, but),
		Why: "a second release would spend a second budget on the same people, and no ledger would add up the two",
		Fix: "restore the private half, or choose another --out and add up the two budgets", Check: true, Err: ErrReleased}
}

// Vacant refuses a folder with files but without a run. If a run released them and nothing else remains of
// the run, a second release would have a second budget that no ledger adds to the first: see [Released].
func (f Folder) Vacant() error {
	strangers, err := f.Strangers()
	if err != nil || len(strangers) == 0 {
		return err
	}
	for _, path := range strangers {
		if releasedFile(filepath.Base(path)) {
			return Released(path, f.Private()+" does not have the run that released it")
		}
	}
	return &fault.Error{What: strangers[0] + " exists already",
		Why: "the file is not from this run, and is not overwritten; nothing was written", Fix: "move the file away, or choose another --out"}
}

// releasedFile reports whether a run released a file with this name, or kept it as a ledger.
func releasedFile(name string) bool {
	return strings.HasPrefix(name, "labels") || strings.HasPrefix(name, "marginals") ||
		strings.HasSuffix(name, ".model") || strings.HasSuffix(name, ".jsonl")
}

// Place is like [Folder.Result], and also makes the folder of the file.
func (f Folder) Place(releasable bool, names ...string) (string, os.FileMode, error) {
	path, mode := f.Result(releasable, names...)
	if releasable {
		return path, mode, durable.MkdirAll(filepath.Dir(path), 0o755)
	}
	return path, mode, durable.PrivateFolder(filepath.Dir(path))
}

// Write writes a result to its place.
func (f Folder) Write(releasable bool, name string, write func(io.Writer) error) error {
	path, mode, err := f.Place(releasable, name)
	if err != nil {
		return err
	}
	return durable.WriteFile(path, mode, write)
}

// Keep writes a file that must not be published.
func (f Folder) Keep(name string, data []byte) error {
	if err := durable.PrivateFolder(f.Private()); err != nil {
		return err
	}
	return durable.WriteBytes(f.Private(name), 0o600, data)
}

// Find returns the path of a result of a complete run.
func (f Folder) Find(names ...string) (string, error) {
	path, _ := f.Result(true, names...)
	there, err := durable.Exists(path)
	if err == nil && !there {
		path, _ = f.Result(false, names...)
	}
	return path, err
}

// Sweep removes the temporary files of killed processes. No other process may be using the folder.
func (f Folder) Sweep() {
	for _, half := range []string{f.Public(), f.Private()} {
		_ = filepath.WalkDir(half, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				durable.SweepFolder(path)
			}
			return nil // unreadable folders stay
		})
	}
}

// Settle gives all public files one time of modification, since differences would reveal the time of work on
// private rows, and removes other users' rights to private files. It reports whether there are public files.
func (f Folder) Settle() (some bool, err error) {
	now := time.Now().Truncate(time.Second)
	err = settle(f.Public(), func(path string, e fs.DirEntry) error {
		some = some || !e.IsDir()
		return os.Chtimes(path, now, now)
	})
	if err == nil {
		err = settle(f.Private(), func(path string, e fs.DirEntry) error {
			info, err := e.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				err = os.Chmod(path, info.Mode().Perm()&^0o077)
			}
			return err
		})
	}
	if err != nil {
		return some, fmt.Errorf("results: %w", err)
	}
	return some, nil
}

// settle calls one for everything below a folder except links. Files that disappear meanwhile, because
// another process has the folder, are skipped.
func settle(dir string, one func(path string, e fs.DirEntry) error) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type()&fs.ModeSymlink == 0 {
			err = one(path, e)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	})
}

// WriteJSON writes a value to the place of a result.
func (f Folder) WriteJSON(releasable bool, name string, v any) error {
	err := f.Write(releasable, name, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	})
	if err != nil {
		return fmt.Errorf("results: %s: %w", name, err)
	}
	return nil
}

// ReadJSON reads a file written by WriteJSON in a complete run, if it has this schema.
func (f Folder) ReadJSON(name, schema string, v any) error {
	path, err := f.Find(name)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := errors.Join(json.Unmarshal(text, &head), json.Unmarshal(text, v)); err != nil {
		return fmt.Errorf("results: %s: %w", path, err)
	}
	if head.Schema != schema {
		return fmt.Errorf("results: %s has schema %q, not %q", path, head.Schema, schema)
	}
	return nil
}

// WriteAccount writes the charges of a row. Only the file name marks a seeded run: the format cannot.
func (f Folder) WriteAccount(name string, seeded bool, account any) error {
	if seeded {
		name = "seeded-" + name
	}
	return f.WriteJSON(!seeded, filepath.Join("accounts", name+".json"), account)
}

// timesFile holds the running times of a run. They include work on private rows, so they stay private.
const timesFile = "seconds.json"

// KeepTimes stores the running times of the run and of every row in the private half.
func (f Folder) KeepTimes(all float64, rows []float64) error {
	text, err := json.Marshal(append([]float64{all}, rows...))
	if err == nil {
		err = f.Keep(timesFile, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

// Times returns the times that KeepTimes stored for this number of rows; zeros if there are none.
func (f Folder) Times(rows int) (all float64, of []float64, err error) {
	none := make([]float64, rows)
	text, err := os.ReadFile(f.Private(timesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, none, nil
	}
	var times []float64
	if err == nil {
		err = json.Unmarshal(text, &times)
	}
	switch {
	case err != nil:
		return 0, none, fmt.Errorf("results: running times: %w", err)
	case len(times) != 1+rows:
		return 0, none, nil
	}
	return times[0], times[1:], nil
}
