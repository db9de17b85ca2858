package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/cmd/pate/internal/shell"

	"github.com/pate-go/pate/internal/testkit"
	protocol "github.com/pate-go/pate/run"
)

type releasing struct {
	name string
	args func(n int) []string // of the n-th release, in the folder of the test
	book func(n int) string   // the ledger that it charges, or all of them as a pattern
	out  func(n int) string   // what leaves, likewise
}

const sharedLedger = "run.jsonl"

func releasingCommands() []releasing {
	const counts = "--counts --teachers 100 --mechanism gnmax --ledger run.jsonl --epsilon 60"
	votes := func(n int) string { return fmt.Sprintf("votes%d.csv", n) }
	shared := func(int) string { return sharedLedger }
	out := func(endings ...string) func(int) string {
		return func(n int) string {
			var patterns []string
			for _, ending := range endings {
				patterns = append(patterns, fmt.Sprintf("out%d%s", n, ending))
			}
			return strings.Join(patterns, " ")
		}
	}
	models := []string{"/public/models/[^.]*", "/private/results/models/[^.]*"} // the latter of seeded runs
	both := append([]string{"/public/labels-*", "/private/results/seeded-labels-*"}, models...)
	return []releasing{
		{"label", func(n int) []string {
			return strings.Fields(fmt.Sprintf("label %s %s --sigma 30 --pool p%d --out out%d.csv", votes(n), counts, n, n))
		}, shared, out(".csv")},
		{"label, silos", func(n int) []string {
			return strings.Fields(fmt.Sprintf("label silo%d.counts --mechanism nearest-questions --sigma 30 --epsilon 60 --ledger run.jsonl --mode filter --out out%d.csv", n, n))
		}, shared, out(".csv")},
		{"analyze release", func(n int) []string {
			return strings.Fields(fmt.Sprintf("votes analyze release %s %s --sigma 30 --order 10 --sigma-ss 4 --name r%d --out out%d.json", votes(n), counts, n, n))
		}, shared, out(".json")},
		{"dpsgd", func(n int) []string {
			return strings.Fields(fmt.Sprintf("dpsgd --data blobs.csv --label kind --delta 1e-5 --epsilon 60 --spend 2 --steps 12 --batch 32 --ledger run.jsonl --out out%d", n))
		}, shared, out(models...)},
		{"dpsgd by itself", func(n int) []string {
			return strings.Fields(fmt.Sprintf("dpsgd --data blobs.csv --label kind --delta 1e-5 --epsilon 2 --steps 12 --batch 32 --out out%d", n))
		}, out("/private/ledger/*.jsonl"), out(models...)},
		{"tune", func(n int) []string {
			return strings.Fields(fmt.Sprintf("dpsgd tune --data blobs.csv --label kind --delta 1e-5 --epsilon 60 --spend 2 --steps 3 --learning-rate 0.5,1 --law geometric --runs 1.5 --ledger run.jsonl --out out%d", n))
		}, shared, out(models...)},
		{"compare", func(n int) []string {
			return strings.Fields(fmt.Sprintf("compare --data blobs.csv --label kind --delta 1e-5 --teachers 9 --methods pate/gnmax,dpsgd/linear --out out%d", n))
		}, out("/private/ledger/*.jsonl"), out(both...)},
		{"serve", func(n int) []string {
			return strings.Fields(fmt.Sprintf("serve requests%d.jsonl --classes a,b,c --mechanism gnmax --sigma 30 --queries 30 --epsilon 60 --ledger run.jsonl --finish --out out%d", n, n))
		}, shared, out("/public/labels.csv", "/private/results/labels.csv")},
		{"publish nearest", func(n int) []string {
			return strings.Fields(fmt.Sprintf("publish blobs.csv --public blobs-public.csv --label kind --delta 1e-5 --method nearest --size 120 --epsilon 8 --out out%d", n))
		}, out("/private/ledger.jsonl"), out("/private/published/labels.csv", "/private/results/labels.csv")},
	}
}

func preparedFolder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	state := testkit.Must(filepath.Abs("state"))
	t.Setenv("XDG_STATE_HOME", state)
	rnd := rand.New(rand.NewPCG(3, 4))
	for n := range 4 {
		var votes, requests strings.Builder
		for query := range 30 {
			most := 60 + rnd.IntN(35)
			other := rnd.IntN(101 - most)
			fmt.Fprintf(&votes, "%d,%d,%d\n", most, other, 100-most-other)
			fmt.Fprintf(&requests, "{\"query\":%d,\"votes\":{\"a\":%d,\"c\":%d}}\n", query, most, other)
		}
		require.NoError(t, os.WriteFile(fmt.Sprintf("votes%d.csv", n), []byte(votes.String()), 0o600))
		require.NoError(t, os.WriteFile(fmt.Sprintf("requests%d.jsonl", n), []byte(requests.String()), 0o600))
	}
	require.NoError(t, os.WriteFile("blobs.csv", blobs(120), 0o600))
	require.NoError(t, os.WriteFile("blobs-public.csv", blobs(60), 0o600))
	for n := range 4 {
		require.NoError(t, os.WriteFile("blobs-silo.csv", blobs(20+n), 0o600))
		typed(t, shell.ExitDone, strings.Fields(fmt.Sprintf("votes nearest blobs-silo.csv --public blobs-public.csv --label kind --votes 2 --questions 20 --out silo%d.counts", n))...)
	}
}

func command(ctx context.Context, args []string) (code int, said string) {
	var out, errs bytes.Buffer
	code = run(ctx, args, strings.NewReader(""), &out, &errs)
	return code, errs.String()
}

// files returns the contents of all files that match one of the patterns, which are
// separated by blanks.
func files(t *testing.T, patterns string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range strings.Fields(patterns) {
		paths := testkit.Must(filepath.Glob(pattern))
		for _, path := range paths {
			text := testkit.Must(os.ReadFile(path))
			found[path] = string(text)
		}
	}
	return found
}

func verifyLedgers(t *testing.T, pattern string) (entries, commits int64) {
	t.Helper()
	for path := range files(t, pattern) {
		s := testkit.Must(verifyLedger(path))
		entries, commits = entries+s.Entries, commits+s.Commits
	}
	return entries, commits
}

// verifyLedger verifies one ledger, and its head. A file without a byte of which nothing
// else tells is that of a process which was killed between making it and its first line:
// it has no entries. With a head it is a ledger that was cut off.
func verifyLedger(path string) (ledger.Summary, error) {
	f, known, err := shell.OpenLedgerFile(path)
	if err != nil {
		return ledger.Summary{}, err
	}
	defer f.Close()
	is, err := f.Stat()
	if err != nil {
		return ledger.Summary{}, err
	}
	_, noID := os.Stat(protocol.IDFile(path))
	if is.Size() == 0 && known.Beside == (ledger.Head{}) && noID != nil {
		return ledger.Summary{}, nil
	}
	return ledger.Verify(f, ledger.VerifyOptions{Heads: known.Of})
}

func noLitter(t *testing.T) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(".", func(path string, f fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".tmp") || strings.HasSuffix(path, "checkpoint") || strings.HasSuffix(path, ".key") && filepath.Base(path) != "run.key" {
			t.Errorf("%s is left", path)
		}
		return err
	}))
}

func TestAnInterruptedCommandSaysSoAndCanBeRepeated(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	preparedFolder(t)
	for _, line := range []string{"compare --data blobs.csv --label kind --delta 1e-4 --out run", "audit"} {
		code, said := command(ctx, strings.Fields(line))
		require.Equal(t, shell.ExitInterrupted, code)
		require.Contains(t, said, "interrupted")
		require.Contains(t, said, "run the same command again")
	}
}

func TestErrorsOfARunHaveCodesOfTheirOwn(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{fmt.Errorf("x: %w", context.Canceled), shell.ExitInterrupted},
		{fmt.Errorf("x: %w", &ledger.BudgetError{Epsilon: 3, Budget: 2}), shell.ExitOverBudget},
		{fmt.Errorf("x: %w", protocol.ErrOtherRun), shell.ExitInvalidInput},
		{fmt.Errorf("x: %w", ledger.ErrOtherConfig), shell.ExitInvalidInput},
		{fmt.Errorf("x: %w", ledger.ErrCorrupt), shell.ExitCheckFailed},
		{fmt.Errorf("x: %w", ledger.ErrSealed), shell.ExitInvalidInput},
		{fmt.Errorf("x: %w", ledger.ErrBroken), shell.ExitFailure},
		{errors.New("x"), shell.ExitFailure},
	} {
		code, text := shell.Explain("pate", c.err)
		require.Equal(t, c.code, code)
		require.True(t, strings.HasPrefix(text, "pate: "), text)
	}
}

func TestWaitingForInputIsInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"account", "-"},
		{"votes", "check", "-", "--classes", "3"},
		{"label", "-", "--classes", "3", "--epsilon", "2", "--ledger", "run.jsonl", "--out", "labels.csv", "--yes"},
		{"votes", "check", "hash-ids", "-", "--salt", "salt.key", "--new-salt", "--silo", "a", "--unit", "id", "--out", "a.json"},
	} {
		silent, _ := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		var out, errs bytes.Buffer
		require.Equal(t, shell.ExitInterrupted, run(ctx, args, silent, &out, &errs), "%q: %s", args, &errs)
		require.Empty(t, out.String(), "%q", args)
		require.True(t, strings.HasPrefix(errs.String(), "pate: interrupted\n") || strings.Contains(errs.String(), "\npate: interrupted\n"), "%q: %s", args, &errs)
	}
	require.NoFileExists(t, "run.jsonl")
	require.NoFileExists(t, "labels.csv")
	require.NoFileExists(t, "a.json")
}

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
