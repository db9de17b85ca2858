package run

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/filekind"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/rng"
)

// File describes the ledger file that a run charges.
type File struct {
	Path   string        // required
	New    ledger.Config // configuration of a ledger that does not exist yet
	Expect Expect        // check of a ledger that exists
	Warn   func(string)
}

// Expect holds required settings of an existing ledger. A zero field allows any value.
type Expect struct {
	Unit       string
	Relation   accountant.Relation
	Epsilon    float64
	Delta      float64
	Mode       *ledger.Mode
	Accountant accountant.Method // accountant of the ledger
}

func (f File) warn(format string, args ...any) {
	if f.Warn != nil {
		f.Warn(fmt.Sprintf(format, args...))
	}
}

// Look returns the configuration of the ledger, and reports whether the ledger is new. Look writes nothing.
// If the ledger is lost, unreadable or different from Expect, Look returns a [*fault.Error].
func (f File) Look() (account ledger.Config, fresh bool, err error) {
	if is := target(f.Path); is != f.Path {
		return f.New, false, &fault.Error{What: f.Path + " is a link to " + is,
			Why: "the head, the secret and the keys of a ledger must lie beside the ledger, not beside a link", Fix: "give " + is}
	}
	// Call traces before reading the ledger, because every trace is created after the ledger is complete.
	traces, err := f.traces()
	if err != nil {
		return f.New, false, err
	}
	file, err := durable.OpenRegular(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.New, true, f.lost(traces)
	}
	if err != nil {
		return f.New, false, f.unreadable(err)
	}
	defer file.Close()
	first, err := bufio.NewReader(io.LimitReader(file, 1<<21)).ReadBytes('\n')
	if err == io.EOF { // no ledger exists, or opening reports the error
		return f.New, true, f.lost(traces)
	}
	if err != nil {
		return f.New, false, f.unreadable(err)
	}
	account, err = ledger.ReadConfig(bytes.NewReader(first))
	if err != nil {
		if is := filekind.OfBytes(first); is != filekind.Unknown && is != filekind.Ledger && is != filekind.Binary {
			return account, false, &fault.Error{What: fmt.Sprintf("%s is %s, not a ledger", f.Path, is),
				Why: "nothing was written or charged", Fix: "choose a ledger, or a new file name for a new ledger"}
		}
		return account, false, fmt.Errorf("%w (%s)", err, f.Path)
	}
	return account, false, f.agrees(account)
}

func (f File) unreadable(err error) error {
	return &fault.Error{What: "the ledger cannot be read",
		Why: "releases must be charged to the ledger first", Fix: "check its name", Err: err}
}

func (f File) agrees(is ledger.Config) error {
	var differ []string
	field := func(name string, is, want any, given bool) {
		if given && is != want {
			differ = append(differ, fmt.Sprintf("%s is %v, not %v", name, is, want))
		}
	}
	listed := func(names []string) string { return cmp.Or(strings.Join(names, ", "), "empty") }
	want := f.Expect
	field("epsilon", is.Epsilon, want.Epsilon, want.Epsilon != 0)
	field("delta", is.Delta, want.Delta, want.Delta != 0)
	field("unit", is.Unit, want.Unit, want.Unit != "")
	field("relation", is.Relation, want.Relation, want.Relation != 0)
	if want.Mode != nil {
		field("mode", is.Mode, *want.Mode, true)
	}
	if want.Accountant != "" {
		field("accountant", is.Method(), ledger.Config{Mode: is.Mode, Accountant: want.Accountant}.Method(), true)
	}
	field("noise", string(is.Noise), string(f.New.Noise), is.Noise != "")
	field("list of checks skipped by --force", listed(is.Waived), listed(f.New.Waived), true)
	if differ == nil {
		return nil
	}
	fix := "use the settings of the ledger, or choose another ledger"
	if want.Unit != "" && is.Unit != want.Unit {
		fix += fmt.Sprintf("; if both units mean the same, give %q as --unit, or as --unit-name if --unit is a column", is.Unit)
	}
	return &fault.Error{What: f.Path + " has other settings than the given ones: its " + strings.Join(differ, ", "),
		Why: "a ledger keeps the budget, the unit and the other settings with which it was created", Fix: fix}
}

// traces returns the existing files beside the ledger. Each such file proves that the ledger existed.
func (f File) traces() ([]string, error) {
	keys, err := Keys(f.Path)
	if err != nil {
		return nil, err
	}
	var there []string
	for _, path := range append([]string{IDFile(f.Path), HeadFile(f.Path)}, keys...) {
		is, err := durable.Exists(path)
		if err != nil {
			return nil, err
		}
		if is {
			there = append(there, path)
		}
	}
	return there, nil
}

func (f File) lost(traces []string) error {
	if len(traces) == 0 {
		return nil
	}
	return &fault.Error{What: f.Path + " is missing or cut off, but " + traces[0] + " shows that it existed",
		Why: "its charges stay, but only the ledger shows what was released",
		Fix: "restore the newest copy of the ledger; if nothing was ever charged, remove the other file", Check: true}
}

// Book is an open ledger with the files beside it.
type Book struct {
	Ledger *ledger.Ledger // read only
	file   File
	shared bool // other runs may share the ledger
	lacks  bool // IDFile is missing, although earlier inputs may need it
}

// Open opens the ledger with the configuration that [File.Look] returned. While another process holds the
// ledger, Open waits until ctx ends. If the ledger contradicts a recorded head (see the package comment),
// Open returns an error.
func (f File) Open(ctx context.Context, account ledger.Config) (*Book, error) {
	b := &Book{file: f, shared: account.Run == ""}
	known := &Heads{path: f.Path}
	kept := ledger.VerifyOptions{
		Heads: func(id string) ([]ledger.Head, error) {
			var err error
			if known, err = ReadHeads(f.Path); err != nil { // while the ledger is locked
				return nil, err
			}
			if !b.shared {
				id = ""
			}
			return known.Of(id)
		},
		Accept: func(s ledger.State) error { return b.accept(s) },
	}
	var err error
	if b.Ledger, err = ledger.Open(ctx, f.Path, account, kept); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	if err := b.begin(*known); err != nil {
		b.Ledger.Close()
		return nil, err
	}
	return b, nil
}

func (b *Book) accept(s ledger.State) error {
	f := b.file
	if s.Lines == 0 {
		traces, err := f.traces()
		if err != nil {
			return err
		}
		if b.shared && replaces(f.Path) {
			f.warn("an older ledger of this name, %s, was charged and is missing: "+
				"its releases stay public, but the new ledger begins with a full budget", f.Path)
		}
		return f.lost(traces)
	}
	hasHead, err := durable.Exists(HeadFile(f.Path))
	if err != nil {
		return err
	}
	hasID, err := durable.Exists(IDFile(f.Path))
	if err != nil {
		return err
	}
	b.lacks = s.Entries > 0 && !hasID
	switch {
	case b.shared && s.ID == "":
		return &fault.Error{What: f.Path + " has no id", Why: "without an id, no second copy of the head of the ledger can be found",
			Fix: "choose a ledger that was created on this machine", Check: true}
	case s.Commits == 0:
		return nil
	case !hasHead:
		return &fault.Error{What: HeadFile(f.Path) + " is missing",
			Why: "without this file, the ledger may be an older copy, and outcomes could be released twice",
			Fix: "restore the file, or give the ledger the name with which it was created", Check: true}
	case b.shared && !hasID:
		return &fault.Error{What: IDFile(f.Path) + " is missing",
			Why: "only this file shows whether an input was answered before",
			Fix: "restore the file", Check: true}
	}
	return nil
}

func (b *Book) begin(known Heads) error {
	f := b.file
	for _, path := range []string{HeadFile(f.Path), IDFile(f.Path)} { // remains of killed processes; this process holds the ledger
		durable.Sweep(path, "")
	}
	f.warnOfMode()
	if b.shared && !b.lacks {
		there, err := durable.Exists(IDFile(f.Path))
		if err == nil && !there {
			_, err = Key(IDFile(f.Path))
		}
		if err != nil {
			return err
		}
	}
	switch none := (ledger.Head{}); {
	case known.Beside == none:
		return b.keep()
	case b.shared && known.Mark == none:
		if b.Ledger.State().Commits > 0 {
			f.warn("%s was last used on another machine or with another state folder, or the state folder was emptied: "+
				"the ledger may be an older copy, restored together with the files beside it, "+
				"and then outcomes could be released twice", f.Path)
		}
		b.mark(b.Ledger.Head())
	}
	return nil
}

func (f File) warnOfMode() {
	info, err := os.Stat(f.Path)
	if err != nil {
		return // Open has reported this error
	}
	if err := errors.Join(durable.Exposed(f.Path, info), durable.Readable(f.Path, info)); err != nil {
		f.warn("%s %v: the ledger is secret until its outcomes are released (chmod 600)", f.Path, err)
	}
}

// Key returns the secret key in the file at path, which must be private to the owner. A missing file is
// created with a new key.
func Key(path string) (rng.Key, error) {
	key, ok, err := keyfile.Read(path)
	if err != nil || ok {
		return key, err
	}
	if key, err = rng.NewKey(); err != nil {
		return key, fmt.Errorf("run: %w", err)
	}
	return key, keyfile.Write(path, key)
}

func (b *Book) secret(used bool) (rng.Key, error) {
	path := IDFile(b.file.Path)
	if !used {
		return Key(path)
	}
	secret, ok, err := keyfile.Read(path)
	if err == nil && !ok {
		err = &fault.Error{What: path + " is missing", Why: "only this file shows whether this input was answered before",
			Fix: "restore the file; until then nothing more is released under this ledger", Check: true}
	}
	return secret, err
}

func (b *Book) Close() error { return b.Ledger.Close() }
