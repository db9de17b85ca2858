package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"

	"github.com/pate-go/pate/internal/testkit"
)

// TestAReleaseOverwritesNothing: not what it is made from, by whatever name, nor
// What it has not written itself; and then nothing is charged or made.
func TestAReleaseOverwritesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	const counts, book = "100,0,0\n90,5,5\n40,35,25\n", "run.jsonl"
	write := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	release := func(name, out string) (int, string) {
		return command(t.Context(), strings.Fields("votes analyze release votes.csv --counts --teachers 100 --mechanism gnmax --sigma 20 --epsilon 20 --name "+name+
			" --ledger "+book+" --out "+out))
	}
	write("votes.csv", counts)
	write("foreign.json", "mine")
	require.NoError(t, os.Symlink("votes.csv", "link"))
	require.NoError(t, os.Link("votes.csv", "hard"))
	require.NoError(t, os.Symlink(book, "booklink"))
	require.NoError(t, os.Symlink("nowhere", "dangling"))
	listing := func() []string {
		found := testkit.Must(os.ReadDir("."))
		var names []string
		for _, f := range found {
			names = append(names, f.Name())
		}
		return names
	}
	refused := func(when string) {
		before := listing()
		was, _ := os.ReadFile(book)
		for out, why := range map[string]string{
			book: "is the ledger", "./x/../" + book: "is the ledger", "booklink": "is the ledger",
			book + ".id": "belongs to the ledger", book + ".head": "belongs to the ledger",
			"votes.csv": "one of the votes files", "link": "one of the votes files", "hard": "one of the votes files",
			"foreign.json": "is there already", "dangling": "is there already", "none/x.json": "cannot be written",
		} {
			code, said := release("new", out)
			require.Equal(t, shell.ExitInvalidInput, code, "%s: %s: %s", when, out, said)
			require.Contains(t, said, why, "%s: %s", when, out)
			require.Equal(t, 4, strings.Count(said, "\n"), said)
		}
		require.Equal(t, before, listing(), when)
		is, _ := os.ReadFile(book)
		require.Equal(t, string(was), string(is), when)
		votes := testkit.Must(os.ReadFile("votes.csv"))
		require.Equal(t, counts, string(votes), when)
	}
	refused("no ledger")
	code, said := release("first", "out.json")
	require.Equal(t, shell.ExitDone, code, said)
	refused("a ledger")
	code, said = release("second", "out.json")
	require.Equal(t, shell.ExitInvalidInput, code, said)
	code, said = release("first", "out.json")
	require.Equal(t, shell.ExitDone, code, said)
}

// TestANumberWhoseKeyIsLost: what was charged and not released is not drawn anew.
func TestANumberWhoseKeyIsLost(t *testing.T) {
	preparedFolder(t)
	c := releasingCommands()[1]
	crashAt(t, c.args(0), "reserved", 1, true)
	keys := testkit.Must(filepath.Glob("run.jsonl.*.key"))
	require.Len(t, keys, 1)
	require.NoError(t, os.Remove(keys[0]))
	code, said := command(t.Context(), c.args(0))
	require.Equal(t, shell.ExitCheckFailed, code, said)
	require.Empty(t, files(t, c.out(0)))
}

// TestAKeyShowsThatALedgerWasLost: beside a key there was a ledger, and noise drawn anew would be a
// second release.
func TestAKeyShowsThatALedgerWasLost(t *testing.T) {
	for _, empty := range []bool{false, true} {
		preparedFolder(t)
		require.NoError(t, os.WriteFile("run.jsonl.0123456789ab.key", []byte("x"), 0o600))
		if empty {
			require.NoError(t, os.WriteFile("run.jsonl", nil, 0o600))
		}
		c := releasingCommands()[1]
		_, said := typed(t, shell.ExitCheckFailed, c.args(0)...)
		require.Contains(t, said, "shows that it was there")
		require.Empty(t, files(t, c.out(0)))
	}
}
