package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/analysis"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/rng"
)

// TestAnInterruptedReleaseRepeatsItself: killed after the key, after the charge or
// after the commit, the command releases the same number and is charged once.
func TestAnInterruptedReleaseRepeatsItself(t *testing.T) {
	var key rng.Key // the same each time, so that the number is
	require.NoError(t, key.UnmarshalText([]byte("pate-key-1:releasable:"+strings.Repeat("A", 43))))
	var want []byte
	for _, killed := range []string{"after the key", "after the charge", "after the commit", "after the file"} {
		dir := t.TempDir()
		votes, book, out := filepath.Join(dir, "counts.csv"), filepath.Join(dir, "run.jsonl"), filepath.Join(dir, "released.json")
		require.NoError(t, os.WriteFile(votes, []byte("100,0,0\n90,5,5\n40,35,25\n"), 0o600))
		release := func() (int, string) {
			var stdout, stderr bytes.Buffer
			args := strings.Fields("analyze release --counts --teachers 100 --mechanism gnmax --sigma 20 --order 10 --sigma-ss 1 --epsilon 200")
			return run(context.Background(), append(args, votes, "--ledger", book, "--out", out), strings.NewReader(""), &stdout, &stderr), stderr.String()
		}
		keyPath := book + ".0624d1a754fa.key"
		l, err := ledger.Open(t.Context(), book, ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 200, Delta: 1e-5, Mode: ledger.Filter, Noise: ledger.SecretNoise}, ledger.VerifyOptions{})
		require.NoError(t, err)
		require.NoError(t, keyfile.Write(keyPath, key))
		if killed == "after the charge" {
			s, err := analysis.NewSanitizer(analysis.SanitizerConfig{Mechanism: analysis.GNMax{Sigma: 20}, Queries: 3, Teachers: 100, Classes: 3, Delta: 1e-5, Order: 10, Sigma: 1, Margin: 2})
			require.NoError(t, err)
			r, err := l.Run("pate analyze release release")
			require.NoError(t, err)
			_, err = r.Reserve(s.Event())
			require.NoError(t, err)
		}
		require.NoError(t, l.Close())
		code, said := release()
		require.Equal(t, shell.ExitDone, code, said)
		require.NoFileExists(t, keyPath)
		switch killed {
		case "after the commit":
			require.NoError(t, os.Remove(out))
			fallthrough
		case "after the file":
			require.NoError(t, keyfile.Write(keyPath, key))
			code, said = release()
			require.Equal(t, shell.ExitDone, code, said)
			require.Regexp(t, "at no further cost|nothing was drawn", said)
			require.NoFileExists(t, keyPath)
		}
		got, err := os.ReadFile(out)
		require.NoError(t, err)
		if want == nil {
			want = got
			var report struct {
				Released struct{ Cost float64 }
			}
			require.NoError(t, json.Unmarshal(got, &report))
			require.Less(t, report.Released.Cost, 3*10/400.0, "not the worst case, which would be no test")
			require.Positive(t, report.Released.Cost)
		}
		require.Equal(t, string(want), string(got), killed)
		f, err := os.Open(book)
		require.NoError(t, err)
		sum, err := ledger.Verify(f, ledger.VerifyOptions{})
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.EqualValues(t, 1, sum.Entries, killed)
		require.EqualValues(t, 1, sum.Commits, killed)

		// The key lost before the end: nothing is drawn anew.
		if killed == "after the charge" {
			require.NoError(t, os.Remove(out))
			code, said = release()
			require.Equal(t, shell.ExitCheckFailed, code, said)
			require.NoFileExists(t, out)
		}
	}
}

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
			book + ".id": "belongs to the ledger", book + ".head": "belongs to the ledger", "its own.key": "belongs to the ledger",
			"votes.csv": "one of the votes files", "link": "one of the votes files", "hard": "one of the votes files",
			"foreign.json": "is there already", "dangling": "is there already", "none/x.json": "cannot be written",
		} {
			if strings.HasSuffix(out, ".key") {
				tag := sha256.Sum256([]byte("analyze release new"))
				out = fmt.Sprintf("%s.%x.key", book, tag[:6])
			}
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
