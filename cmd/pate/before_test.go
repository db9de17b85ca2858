package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// before copies what an earlier version left, which kept heads for pate label alone, to a
// new folder, with the modes that it had.
func before(t *testing.T, part string) {
	t.Helper()
	from, err := filepath.Abs(filepath.Join("testdata", "before", part))
	require.NoError(t, err)
	preparedFolder(t)
	data, err := filepath.Abs("rows.csv")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(from, func(path string, f fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to, err := filepath.Rel(from, path)
		if err != nil || f.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, []byte(strings.ReplaceAll(string(text), `"DATA"`, `"`+data+`"`)), 0o600)
	}))
}

// TestLabelsOfAnEarlierVersion: a finished run is recognised, one that was killed after its
// charge goes on, and another can be charged to the ledger.
func TestLabelsOfAnEarlierVersion(t *testing.T) {
	before(t, "label")
	label := func(name string, more ...string) []string {
		args := append(strings.Fields("label votes.csv --counts --teachers 100 --mechanism gnmax"), more...)
		return append(args, "--ledger", name+".jsonl", "--out", name+".csv")
	}
	typed(t, shell.ExitDone, "ledger", "verify", "done.jsonl", "--labels", "done.csv") // in the form of then
	_, said := typed(t, shell.ExitDone, label("done", "--sigma", "60")...)
	require.Contains(t, said, "nothing was drawn or charged")
	_, said = typed(t, shell.ExitDone, label("half", "--sigma", "60")...)
	require.Contains(t, said, "at no further cost")
	out, _ := typed(t, shell.ExitDone, "ledger", "verify", "half.jsonl")
	require.Contains(t, out, "1 reserved, 1 committed")
	require.Contains(t, out, "it holds the head that was kept beside the ledger, and the one kept in the user's state folder")
	keys, err := filepath.Glob("half.jsonl.*.key")
	require.NoError(t, err)
	require.Empty(t, keys)
	require.NoError(t, os.Remove("done.jsonl.head"))
	_, said = typed(t, shell.ExitCheckFailed, label("done", "--sigma", "60")...)
	require.Contains(t, said, "done.jsonl.head is gone") // the first command gave the ledger an id
}

// TestNumbersOfAnEarlierVersion: a ledger that has no head, and under which something was
// released, is refused until it is adopted; one under which nothing left goes on.
func TestNumbersOfAnEarlierVersion(t *testing.T) {
	before(t, "label")
	number := func(name string) []string {
		args := strings.Fields("analyze release votes.csv --counts --teachers 100 --mechanism gnmax --sigma 60 --order 10 --sigma-ss 4")
		return append(args, "--ledger", name+".jsonl", "--out", name+".json")
	}
	out, _ := typed(t, shell.ExitDone, "ledger", "verify", "released.jsonl")
	require.Contains(t, out, "no head of it is known here")
	_, said := typed(t, shell.ExitCheckFailed, number("released")...)
	require.Contains(t, said, "released.jsonl.head is not there, as an earlier version made the ledger")
	require.Contains(t, said, "pate ledger adopt released.jsonl")
	typed(t, shell.ExitDone, "ledger", "adopt", "released.jsonl")
	_, said = typed(t, shell.ExitDone, number("released")...)
	require.Contains(t, said, "nothing was drawn or charged")
	_, said = typed(t, shell.ExitDone, number("relhalf")...)
	require.Contains(t, said, "at no further cost")
	require.NoFileExists(t, "relhalf.jsonl.0624d1a754fa.key")
}
