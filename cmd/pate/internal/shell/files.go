package shell

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/filekind"
	"github.com/pate-go/pate/run"
)

// Target is an output file of a command.
type Target struct {
	Flag  string // flag with the path
	Path  string
	Topic string
}

func (t Target) refused(why, fix, format string, args ...any) error {
	return InputError(fmt.Errorf("%s %s"+format, append([]any{t.Flag, t.Path}, args...)...), why, fix, t.Topic)
}

func (t Target) unread(err error) error { return t.refused("", "choose another file", ": %w", err) }

// CheckDistinct refuses a target that is one of the paths, directly or through links. Errors call the paths
// `what`.
func (t Target) CheckDistinct(what string, paths ...string) error {
	for _, path := range paths {
		same, err := durable.Same(t.Path, path)
		if err != nil {
			return t.unread(err)
		}
		if same {
			return t.refused("the file would be overwritten; nothing was written", "choose another file", " is %s", what)
		}
	}
	return nil
}

// CheckWritable refuses a target that cannot be created, and removes temporary files of interrupted writes.
func (t Target) CheckWritable() error {
	durable.Sweep(t.Path, "")
	if err := durable.Writable(t.Path); err != nil {
		return t.refused("nothing was written or charged", "create its folder, or choose another file", " cannot be written: %w", err)
	}
	return nil
}

// CheckReplaceable refuses ledgers, keys, targets that are not writable, inputs, and the head and id files of
// inputs.
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
		return t.unread(err)
	}
	defer f.Close()
	start := make([]byte, 64)
	n, err := f.Read(start)
	if err != nil && err != io.EOF {
		return t.unread(err)
	}
	for _, kept := range []string{`{"line":1,"schema":"pate.ledger/`, "pate-key-", "-----BEGIN "} {
		if strings.HasPrefix(string(start[:n]), kept) {
			return t.refused("the file would be lost; nothing was written", "choose another file", " is a ledger or a key")
		}
	}
	return t.CheckWritable()
}

// Write writes the target. It refuses to overwrite a file whose content is different.
func (t Target) Write(mode os.FileMode, write func(io.Writer) error) error {
	there, err := durable.Exists(t.Path)
	if err != nil {
		return t.unread(err)
	}
	if there {
		holds, err := durable.Holds(t.Path, write)
		if err == nil && !holds {
			err = t.refused("the content is not from this command, so the file is not overwritten",
				"move the file away, or choose another file name", " exists already")
		}
		return err
	}
	if err := t.CheckWritable(); err != nil {
		return err
	}
	return durable.WriteFile(t.Path, mode, write)
}

// Matches returns the files that match patterns. A path without a match is kept, so that opening it fails.
func Matches(argument string, patterns []string) ([]string, error) {
	var paths []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, Usagef("votes", "%s %q: %w", argument, p, err)
		}
		if len(found) == 0 {
			found = []string{p}
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

func ExpandPaths(paths []string) []string {
	files := append([]string(nil), paths...)
	for _, path := range paths {
		if found, err := filepath.Glob(path); err == nil { // the later read reports a bad pattern
			files = append(files, found...)
		}
	}
	return files
}

// instead maps each refused kind of file to advice. FILE stands for the path.
var instead = map[filekind.Kind]string{
	filekind.Empty:     "the program that wrote the file did not finish: write the file again",
	filekind.Folder:    "name a file in it",
	filekind.Parquet:   "convert the file in Python: pandas.read_parquet(FILE).to_csv('file.csv', index=False)",
	filekind.Arrow:     "convert the file in Python: pandas.read_feather(FILE).to_parquet('file.parquet', index=False)",
	filekind.HDF5:      "convert the file in Python: pandas.read_hdf(FILE).to_csv('file.csv', index=False)",
	filekind.NPY:       "convert the file in Python: numpy.savetxt('file.csv', numpy.load(FILE), delimiter=',', fmt='%g')",
	filekind.Pickle:    "convert the file in Python: numpy.save('file.npy', pickle.load(open(FILE, 'rb')))",
	filekind.Gzip:      "unpack it: gzip -d FILE",
	filekind.Zstandard: "unpack it: zstd -d FILE",
	filekind.Zip:       "unpack the file; for an .npz: numpy.save('file.npy', numpy.load(FILE)['arr_0']), for an .xlsx: save it as CSV",
	filekind.UTF16:     "save it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE",
	filekind.Ledger:    "to see what the ledger spent: pate ledger show FILE; to write a statement: pate ledger statement FILE",
	filekind.Head:      "the file belongs to the ledger beside it: give the name without .head",
	filekind.Key:       "keep the key secret, and choose another file",
	filekind.Model:     "to predict labels with the model: pate predict FILE",
	filekind.Labels:    "to find the ledger entry of these labels: pate verify LEDGER --labels FILE",
	filekind.Statement: "to compare the statement with a ledger: pate verify LEDGER --statement FILE",
	filekind.Events:    "to compute the cost of the events: pate account FILE",
}

// WrongKind returns an error if the kind of the file is recognised but is not in `right`. The text `wanted`
// describes the expected kind, such as "a ledger".
func WrongKind(path, wanted, topic string, right ...filekind.Kind) error {
	is := filekind.Of(path)
	if is == filekind.Unknown || is == filekind.Binary || slices.Contains(right, is) {
		return nil
	}
	fix := strings.ReplaceAll(cmp.Or(instead[is], "choose another file"), "FILE", pathIn(is, path))
	return InputError(fmt.Errorf("%s is %s, not %s", path, is, wanted), "the file was not used, and nothing was charged", fix, topic)
}

func pathIn(is filekind.Kind, path string) string {
	switch is {
	case filekind.Parquet, filekind.Arrow, filekind.HDF5, filekind.NPY, filekind.Pickle, filekind.Zip:
		return "'" + strings.ReplaceAll(strings.ReplaceAll(path, `\`, `\\`), "'", `\'`) + "'"
	}
	return ShellWord(path)
}

// ModelLedger returns the ledger of --ledger, for the charge of a model. For a new ledger, epsilon is the
// budget, and modeWord names a [ledger.Mode]. For an existing ledger, epsilon may be 0.
func (g *Globals) ModelLedger(cmd *cobra.Command, topic, path, modeWord, unit string, epsilon float64, waived []string) (*recipe.Shared, error) {
	var mode ledger.Mode
	if err := mode.UnmarshalText([]byte(modeWord)); err != nil {
		return nil, UsageError(topic, err)
	}
	file := run.File{Path: path, Warn: g.Warn, Expect: run.Expect{Epsilon: epsilon}, New: ledger.Config{
		Unit: unit, Relation: accountant.AddRemove, Epsilon: epsilon, Delta: g.Delta, Mode: mode, Noise: g.Noise(), Waived: waived,
	}}
	Put(cmd.Flags().Changed("delta"), &file.Expect.Delta, g.Delta)
	Put(cmd.Flags().Changed("mode"), &file.Expect.Mode, &mode)
	account, _, err := LedgerConfig(file)
	switch {
	case err != nil:
		return nil, err
	case account.Unit != unit:
		return nil, InputError(fmt.Errorf("the privacy unit of %s is %q, but the unit of this model is %q", path, account.Unit, unit),
			"a ledger protects one kind of unit; without --unit, each row is a unit with the name \"record\"",
			"choose another ledger, or give a --unit-name if the units are the same", "ledger")
	case account.Relation != accountant.AddRemove:
		return nil, InputError(fmt.Errorf("%s is for relation %v", path, account.Relation),
			"the cost of DP-SGD is known only for add/remove", "choose another ledger", "ledger")
	}
	return &recipe.Shared{File: file, Account: account}, nil
}

// LedgerConfig returns the configuration of a ledger, and whether the ledger is new. A new ledger needs a
// budget and an existing folder.
func LedgerConfig(file run.File) (account ledger.Config, fresh bool, err error) {
	account, fresh, err = file.Look()
	if err == nil && fresh {
		if account.Epsilon == 0 {
			return account, true, Usagef("privacy", "--epsilon is required, because the ledger %s is new", file.Path)
		}
		err = Target{Flag: "--ledger", Path: file.Path, Topic: "ledger"}.CheckWritable()
	}
	return account, fresh, FaultError(err, "ledger")
}

// OpenLedgerFile opens a ledger for reading, and reads the stored heads. Another process may write the ledger
// at the same time.
func OpenLedgerFile(path string) (*os.File, *run.Heads, error) {
	if err := WrongKind(path, "a ledger", "ledger", filekind.Ledger, filekind.Folder, filekind.Empty); err != nil {
		return nil, nil, err
	}
	known, err := run.ReadHeads(path)
	if err != nil {
		return nil, nil, FaultError(err, "ledger")
	}
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, nil, InputError(err, "this must be the path of a ledger file", "check its name", "ledger")
	}
	return f, known, nil
}

// HeadNames lists the sources of the heads of a ledger, such as "given with --head".
func HeadNames(known *run.Heads) []string {
	names := []string{}
	for i, head := range []ledger.Head{known.Beside, known.Mark, known.Given} {
		if head != (ledger.Head{}) {
			names = append(names, []string{"kept beside the ledger", "kept in the user's state folder", "given with --head"}[i])
		}
	}
	return names
}

// OpenInput opens an input file, or standard input for "-". The caller must close the result.
func OpenInput(cmd *cobra.Command, path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	return durable.OpenRegular(path)
}

// ReadStart returns the first bytes of a file, at most `most` bytes.
func ReadStart(path string, most int64) ([]byte, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

func HashFile(path string) (sum [sha256.Size]byte, err error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return [sha256.Size]byte(h.Sum(nil)), err
}
