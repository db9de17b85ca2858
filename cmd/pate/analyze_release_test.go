package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// TestAReleaseOverwritesNothing: not what it is made from, by whatever name, nor
// What it has not written itself; and then nothing is charged or made.
func TestAReleaseOverwritesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	const counts, book = "100,0,0\n90,5,5\n40,35,25\n", "run.jsonl"
	write := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	release := func(name, out string) (int, string) {
		var stdout, stderr bytes.Buffer
		args := strings.Fields("analyze release votes.csv --counts --teachers 100 --mechanism gnmax --sigma 20 --epsilon 20 --name " + name + " --ledger " + book + " --out " + out)
		return run(context.Background(), args, strings.NewReader(""), &stdout, &stderr), stderr.String()
	}
	write("votes.csv", counts)
	write("foreign.json", "mine")
	require.NoError(t, os.Symlink("votes.csv", "link"))
	require.NoError(t, os.Link("votes.csv", "hard"))
	require.NoError(t, os.Symlink(book, "booklink"))
	require.NoError(t, os.Symlink("nowhere", "dangling"))
	listing := func() []string {
		found, err := os.ReadDir(".")
		require.NoError(t, err)
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
		votes, err := os.ReadFile("votes.csv")
		require.NoError(t, err)
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

// TestALedgerThatWasLostIsMissed: a key, the secret or the head beside it shows that
// there was one, and noise drawn anew would be a second release.
func TestALedgerThatWasLostIsMissed(t *testing.T) {
	for _, trace := range []string{".0624d1a754fa.key", ".0123456789ab.key", ".id", ".head", ""} {
		for _, empty := range []bool{false, true} {
			dir := t.TempDir()
			votes, book, out := filepath.Join(dir, "counts.csv"), filepath.Join(dir, "run.jsonl"), filepath.Join(dir, "released.json")
			require.NoError(t, os.WriteFile(votes, []byte("100,0,0\n90,5,5\n40,35,25\n"), 0o600))
			if trace != "" {
				require.NoError(t, os.WriteFile(book+trace, []byte("x"), 0o600))
			}
			if empty {
				require.NoError(t, os.WriteFile(book, nil, 0o600))
			}
			var stdout, stderr bytes.Buffer
			args := strings.Fields("analyze release --counts --teachers 100 --mechanism gnmax --sigma 20 --epsilon 20")
			code := run(context.Background(), append(args, votes, "--ledger", book, "--out", out), strings.NewReader(""), &stdout, &stderr)
			if trace == "" {
				require.Equal(t, shell.ExitDone, code, stderr.String())
				continue
			}
			require.Equal(t, shell.ExitCheckFailed, code, stderr.String())
			require.Contains(t, stderr.String(), "shows that it was there")
			require.NoFileExists(t, out)
			if !empty {
				require.NoFileExists(t, book)
			}
		}
	}
}
