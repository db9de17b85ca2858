// Package results divides a folder DIR of results into two subfolders, public and private.
//
// DIR/public contains exactly the files that may be published. The cost of these files is charged to a
// ledger, and their noise is secret. They contain no paths of this machine, no running times on private rows
// and no private numbers. All other files are in DIR/private, which only its owner can open: keys, votes,
// ledgers and the configuration of the run. Results that must not be published, such as results of a seeded
// run, are in DIR/private/results.
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

// Folder is the path of a folder with the subfolders public and private.
type Folder string

func (f Folder) Public(names ...string) string { return f.join("public", names) }

func (f Folder) Private(names ...string) string { return f.join("private", names) }

// Result returns the path and the mode of a result file. The file is public if releasable is true.
func (f Folder) Result(releasable bool, names ...string) (string, os.FileMode) {
	if releasable {
		return f.Public(names...), 0o644
	}
	return f.join(filepath.Join("private", "results"), names), 0o600
}

func (f Folder) join(half string, names []string) string {
	return filepath.Join(append([]string{string(f), half}, names...)...)
}

// Config returns the path of the run's configuration. A run writes its key first, then the configuration,
// then all other files.
func (f Folder) Config() string { return f.Private("config.json") }

// Strangers returns nil if the folder has a configuration. Otherwise it returns all files except the key, an
// empty lock file and temporary files.
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
			unnamed := strings.HasPrefix(filepath.Base(at), ".") && filepath.Ext(at) == ".tmp" // another process is writing it
			if err == nil && !e.IsDir() && !unnamed && !slices.Contains(first, at) {
				paths = append(paths, at)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("results: %w", err)
		}
	}
	if begun, err = durable.Exists(f.Config()); err != nil || begun { // another process has begun a run meanwhile
		return nil, err
	}
	return paths, nil
}

// ErrReleased matches errors that refuse a second release.
var ErrReleased = errors.New("results: something was released")

// Released returns the error for a file that another run released: "PATH was released, and CLAUSE".
func Released(path, clause string) error {
	return &fault.Error{What: fmt.Sprintf("%s was released, and %s", path, clause),
		Why: "a second release would spend a second budget on the same people, and no ledger would contain both",
		Fix: "restore the private half, or choose another --out and add up both budgets", Check: true, Err: ErrReleased}
}

// Vacant returns an error if the folder has files but no configuration (see [Folder.Strangers]). The files
// may come from an earlier run whose ledger is lost. A new run would then start a new ledger, which lacks the
// charge of the earlier run.
func (f Folder) Vacant() error {
	strangers, err := f.Strangers()
	if err != nil || len(strangers) == 0 {
		return err
	}
	for _, path := range strangers {
		if releasedFile(filepath.Base(path)) {
			return Released(path, f.Private()+" lacks the run that made the release")
		}
	}
	return &fault.Error{What: strangers[0] + " exists already",
		Why: "the file is not from this run, so it was not overwritten; nothing was written", Fix: "move the file away, or choose another --out"}
}

func releasedFile(name string) bool {
	return strings.HasPrefix(name, "labels") || strings.HasPrefix(name, "marginals") || strings.HasPrefix(name, "tree") ||
		strings.HasSuffix(name, ".model") || strings.HasSuffix(name, ".jsonl")
}

// Place returns the result of [Folder.Result], and creates the folder of the file.
func (f Folder) Place(releasable bool, names ...string) (string, os.FileMode, error) {
	path, mode := f.Result(releasable, names...)
	if releasable {
		return path, mode, durable.MkdirAll(filepath.Dir(path), 0o755)
	}
	return path, mode, durable.PrivateFolder(filepath.Dir(path))
}

func (f Folder) Write(releasable bool, name string, write func(io.Writer) error) error {
	path, mode, err := f.Place(releasable, name)
	if err != nil {
		return err
	}
	return durable.WriteFile(path, mode, write)
}

// Keep writes data to a file in the subfolder "private".
func (f Folder) Keep(name string, data []byte) error {
	if err := durable.PrivateFolder(f.Private()); err != nil {
		return err
	}
	return durable.WriteBytes(f.Private(name), 0o600, data)
}

// Find returns the path of a result file: the public path if the file exists there, and otherwise the private
// path.
func (f Folder) Find(names ...string) (string, error) {
	path, _ := f.Result(true, names...)
	there, err := durable.Exists(path)
	if err == nil && !there {
		path, _ = f.Result(false, names...)
	}
	return path, err
}

// Sweep removes temporary files of killed processes from both subfolders. No other process may use the folder
// at the same time.
func (f Folder) Sweep() {
	for _, half := range []string{f.Public(), f.Private()} {
		_ = filepath.WalkDir(half, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				durable.SweepFolder(path)
			}
			return nil // skip unreadable folders
		})
	}
}

// Settle gives all public files the same modification time. Different times would reveal running times on
// private rows. Settle also removes the permissions of other users from private files. The result `some` is
// true if public files exist.
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

var stay = []string{"lock", "config.json", finished, "report.json", "published", "results", "about.json"}

const finished = "finished" // written when the key of a run is destroyed

// Secrets returns the private files and folders that only an unfinished run needs.
func (f Folder) Secrets() (paths []string, err error) {
	entries, err := os.ReadDir(f.Private())
	for _, e := range entries {
		if !slices.Contains(stay, e.Name()) && !strings.HasPrefix(e.Name(), "ledger") {
			paths = append(paths, f.Private(e.Name()))
		}
	}
	return paths, err
}

// Removed describes the secrets that were removed after a complete run. Otherwise Removed returns "".
func (f Folder) Removed() string {
	left, err := f.Secrets()
	done, other := durable.Exists(f.Private(finished))
	switch {
	case err != nil || other != nil || !done || slices.Contains(left, f.Private("run.key")):
		return ""
	case len(left) > 0:
		return "the key of the noise"
	}
	return "the key of the noise and all working files of the run (votes, models of teachers)"
}

// WriteJSON writes v as JSON to the path of [Folder.Result].
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

// ReadJSON decodes a file of WriteJSON into v. A file with another schema is an error.
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

// WriteAccount writes the charges of one row of the results. If seeded is true, the file name begins with
// "seeded-", because account does not show whether the run is seeded.
func (f Folder) WriteAccount(name string, seeded bool, account any) error {
	if seeded {
		name = "seeded-" + name
	}
	return f.WriteJSON(!seeded, filepath.Join("accounts", name+".json"), account)
}

const timesFile = "seconds.json"

// KeepTimes stores the running times of the run and each row, in seconds, in the subfolder "private".
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

// Times returns the running times from KeepTimes, or zeros if none are stored for this number of rows.
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
