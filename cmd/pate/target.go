package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pate-go/pate/accountant/ledger/release"
	"github.com/pate-go/pate/internal/durable"
)

// target is a file that a command writes, which it must not put over another.
type target struct {
	flag  string // that names it
	path  string
	topic string
}

// apart refuses a target that is one of the files named, by whatever link; what is
// one of several words, such as "the votes".
func (t target) apart(what string, paths ...string) error {
	for _, path := range paths {
		same, err := durable.Same(t.path, path)
		if err != nil {
			return inputError(fmt.Errorf("%s %s: %w", t.flag, t.path, err), "", "name another file", t.topic)
		}
		if same {
			return inputError(fmt.Errorf("%s %s is %s", t.flag, t.path, what), "it would be overwritten; nothing was written", "name another file", t.topic)
		}
	}
	return nil
}

// possible refuses a target that no file can be made at.
func (t target) possible() error {
	if err := durable.Writable(t.path); err != nil {
		return inputError(fmt.Errorf("%s %s cannot be written: %w", t.flag, t.path, err), "nothing was written or charged", "make its folder, or name another file", t.topic)
	}
	return nil
}

// free refuses a target that is there.
func (t target) free() error {
	there, err := durable.Exists(t.path)
	if err != nil {
		return inputError(fmt.Errorf("%s %s: %w", t.flag, t.path, err), "", "name another file", t.topic)
	}
	if there {
		return t.foreign()
	}
	return nil
}

// replaceable refuses a target that is one of the inputs or belongs to one of them, that
// is a ledger or a key, or that cannot be written. Anything else that is there may be
// replaced.
func (t target) replaceable(inputs ...string) error {
	for _, input := range inputs {
		if err := t.apart("an input of this command", input, release.HeadFile(input), release.IDFile(input)); err != nil {
			return err
		}
	}
	f, err := durable.OpenRegular(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t.possible()
	case err != nil:
		return inputError(fmt.Errorf("%s %s: %w", t.flag, t.path, err), "", "name another file", t.topic)
	}
	defer f.Close()
	start := make([]byte, 64)
	n, err := f.Read(start)
	if err != nil && err != io.EOF {
		return inputError(fmt.Errorf("%s %s: %w", t.flag, t.path, err), "", "name another file", t.topic)
	}
	for _, kept := range []string{`{"line":1,"schema":"pate.ledger/`, "pate-key-"} {
		if strings.HasPrefix(string(start[:n]), kept) {
			return inputError(fmt.Errorf("%s %s is a ledger or a key", t.flag, t.path), "it would be lost; nothing was written", "name another file", t.topic)
		}
	}
	return t.possible()
}

func (t target) foreign() error {
	return inputError(fmt.Errorf("%s %s is there already", t.flag, t.path), "this command did not write it as it is, and does not overwrite it",
		"move it away, or name another file", t.topic)
}

// write writes the target, unless that is what is there; anything else there is
// refused.
func (t target) write(mode os.FileMode, write func(io.Writer) error) error {
	there, err := durable.Exists(t.path)
	if err != nil {
		return inputError(fmt.Errorf("%s %s: %w", t.flag, t.path, err), "", "name another file", t.topic)
	}
	if there {
		holds, err := durable.Holds(t.path, write)
		if err == nil && !holds {
			err = t.foreign()
		}
		return err
	}
	if err := t.possible(); err != nil {
		return err
	}
	return durable.WriteFile(t.path, mode, write)
}

// filesOf are the files that paths or patterns name.
func filesOf(paths []string) []string {
	files := append([]string(nil), paths...)
	for _, path := range paths {
		if found, err := filepath.Glob(path); err == nil { // a bad pattern is found out by who reads it
			files = append(files, found...)
		}
	}
	return files
}
