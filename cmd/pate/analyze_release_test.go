package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/analysis"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/internal/rng"
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
		require.NoError(t, keyfile.Write(keyPath, key))
		if killed == "after the charge" {
			s, err := analysis.NewSanitizer(analysis.SanitizerConfig{Mechanism: analysis.GNMax{Sigma: 20}, Queries: 3, Teachers: 100, Classes: 3, Delta: 1e-5, Order: 10, Sigma: 1, Margin: 2})
			require.NoError(t, err)
			l, err := ledger.Open(book, ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 200, Delta: 1e-5, Mode: ledger.Filter, Noise: ledger.SecretNoise})
			require.NoError(t, err)
			r, err := l.Run("pate analyze release release")
			require.NoError(t, err)
			_, err = r.Reserve(s.Event())
			require.NoError(t, err)
			require.NoError(t, l.Close())
		}
		code, said := release()
		require.Equal(t, exitDone, code, said)
		require.NoFileExists(t, keyPath)
		switch killed {
		case "after the commit":
			require.NoError(t, os.Remove(out))
			fallthrough
		case "after the file":
			require.NoError(t, keyfile.Write(keyPath, key))
			code, said = release()
			require.Equal(t, exitDone, code, said)
			require.Contains(t, said, "at no further cost")
			require.NoFileExists(t, keyPath)
		}
		got, err := os.ReadFile(out)
		require.NoError(t, err)
		if want == nil {
			want = got
			var report releasedReport
			require.NoError(t, json.Unmarshal(got, &report))
			require.Less(t, report.Released.Cost, 3*10/400.0, "not the worst case, which would be no test")
			require.Positive(t, report.Released.Cost)
		}
		require.Equal(t, string(want), string(got), killed)
		f, err := os.Open(book)
		require.NoError(t, err)
		sum, err := ledger.Verify(f, nil)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.EqualValues(t, 1, sum.Entries, killed)
		require.EqualValues(t, 1, sum.Commits, killed)

		// The key lost before the end: nothing is drawn anew.
		if killed == "after the charge" {
			require.NoError(t, os.Remove(out))
			code, said = release()
			require.Equal(t, exitCheckFailed, code, said)
			require.NoFileExists(t, out)
		}
	}
}
