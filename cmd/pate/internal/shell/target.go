package shell

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/run"
)

// Target is a file that a command writes, which it must not put over another.
type Target struct {
	Flag  string // that names it
	Path  string
	Topic string
}

// CheckDistinct refuses a target that is one of the files named, by whatever link; what is
// one of several words, such as "the votes".
func (t Target) CheckDistinct(what string, paths ...string) error {
	for _, path := range paths {
		same, err := durable.Same(t.Path, path)
		if err != nil {
			return InputError(fmt.Errorf("%s %s: %w", t.Flag, t.Path, err), "", "name another file", t.Topic)
		}
		if same {
			return InputError(fmt.Errorf("%s %s is %s", t.Flag, t.Path, what), "it would be overwritten; nothing was written", "name another file", t.Topic)
		}
	}
	return nil
}

// CheckWritable refuses a target that no file can be made at. It removes what a killed process
// left of one.
func (t Target) CheckWritable() error {
	durable.Sweep(t.Path, "")
	if err := durable.Writable(t.Path); err != nil {
		return InputError(fmt.Errorf("%s %s cannot be written: %w", t.Flag, t.Path, err), "nothing was written or charged", "make its folder, or name another file", t.Topic)
	}
	return nil
}

// CheckAbsent refuses a target that is there.
func (t Target) CheckAbsent() error {
	there, err := durable.Exists(t.Path)
	if err != nil {
		return InputError(fmt.Errorf("%s %s: %w", t.Flag, t.Path, err), "", "name another file", t.Topic)
	}
	if there {
		return t.errExists()
	}
	return nil
}

// CheckReplaceable refuses a target that is one of the inputs or belongs to one of them, that
// is a ledger or a key, or that cannot be written. Anything else that is there may be
// replaced.
func (t Target) CheckReplaceable(inputs ...string) error {
	for _, input := range inputs {
		if err := t.CheckDistinct("an input of this command", input, run.HeadFile(input), run.IDFile(input)); err != nil {
			return err
		}
	}
	f, err := durable.OpenRegular(t.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t.CheckWritable()
	case err != nil:
		return InputError(fmt.Errorf("%s %s: %w", t.Flag, t.Path, err), "", "name another file", t.Topic)
	}
	defer f.Close()
	start := make([]byte, 64)
	n, err := f.Read(start)
	if err != nil && err != io.EOF {
		return InputError(fmt.Errorf("%s %s: %w", t.Flag, t.Path, err), "", "name another file", t.Topic)
	}
	for _, kept := range []string{`{"line":1,"schema":"pate.ledger/`, "pate-key-", "-----BEGIN "} {
		if strings.HasPrefix(string(start[:n]), kept) {
			return InputError(fmt.Errorf("%s %s is a ledger or a key", t.Flag, t.Path), "it would be lost; nothing was written", "name another file", t.Topic)
		}
	}
	return t.CheckWritable()
}

func (t Target) errExists() error {
	return InputError(fmt.Errorf("%s %s is there already", t.Flag, t.Path), "this command did not write it as it is, and does not overwrite it",
		"move it away, or name another file", t.Topic)
}

// Write writes the target, unless that is what is there; anything else there is
// refused.
func (t Target) Write(mode os.FileMode, write func(io.Writer) error) error {
	there, err := durable.Exists(t.Path)
	if err != nil {
		return InputError(fmt.Errorf("%s %s: %w", t.Flag, t.Path, err), "", "name another file", t.Topic)
	}
	if there {
		holds, err := durable.Holds(t.Path, write)
		if err == nil && !holds {
			err = t.errExists()
		}
		return err
	}
	if err := t.CheckWritable(); err != nil {
		return err
	}
	return durable.WriteFile(t.Path, mode, write)
}

// ExpandPaths returns the files that paths or patterns name.
func ExpandPaths(paths []string) []string {
	files := append([]string(nil), paths...)
	for _, path := range paths {
		if found, err := filepath.Glob(path); err == nil { // a bad pattern is found out by who reads it
			files = append(files, found...)
		}
	}
	return files
}
