package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/accountant/bayes"
	"github.com/pate-go/pate/internal/testkit"
)

// typicalTable writes a table of two clouds.
func typicalTable(t *testing.T) string {
	rnd := rand.New(rand.NewPCG(5, 5))
	var b strings.Builder
	b.WriteString("length,width,kind\n")
	for i := range 900 {
		fmt.Fprintf(&b, "%.3f,%.3f,%c\n", rnd.NormFloat64()+float64(i%2), rnd.NormFloat64(), 'a'+rune(i%2))
	}
	file := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	return file
}

// TestABayesianFigureStandsNowhereAsEpsilon tries every way of the command: what runs
// print in each format, what they keep, and what other commands make of it.
func TestABayesianFigureStandsNowhereAsEpsilon(t *testing.T) {
	t.Parallel()
	file := typicalTable(t)
	for command, further := range map[string][]string{
		"dpsgd":   {"--steps", "8", "--clip", "1"},
		"compare": {"--methods", "dpsgd/linear", "--epsilon", "2"},
	} {
		t.Run(command, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			args := append([]string{command, "--data", file, "--label", "kind", "--delta", "1e-4", "--seed", "3", "--out", dir, "--bayes"}, further...)
			shown := func(format string) string {
				code, out, errs := execute(t, "", append(args, "--format", format)...)
				require.Equal(t, shell.ExitDone, code, errs)
				return out
			}
			var result struct {
				Releasable bool
				Rows       []struct {
					Epsilon float64
					Bayes   []bayes.Figure
				}
			}
			require.NoError(t, json.Unmarshal([]byte(shown("json")), &result))
			require.False(t, result.Releasable)
			require.Len(t, result.Rows[0].Bayes, 2)
			epsilon := result.Rows[0].Epsilon
			require.InDelta(t, 2, epsilon, 0.01)
			var mus []string
			for _, f := range result.Rows[0].Bayes {
				mus = append(mus, f.Cell())
				require.NotContains(t, fmt.Sprint(epsilon), f.Cell())
			}

			records := testkit.Must(csv.NewReader(strings.NewReader(shown("csv"))).ReadAll())
			requireOwnColumns(t, records, mus, "epsilon", "private_bayes")
			text := shown("table")
			for _, words := range []string{"not differential privacy", "Not releasable", "outliers", "private"} {
				if words != "Not releasable" { // a seeded run has another reason
					require.Contains(t, text, words)
				}
			}
			head, section, found := strings.Cut(text, "Bayesian accounting")
			require.True(t, found)
			for _, mu := range mus {
				require.NotContains(t, strings.Fields(head), mu, "not in the table of epsilons")
				require.Contains(t, section, mu)
			}
			for line := range strings.Lines(shown("md")) {
				for _, mu := range mus {
					if strings.Contains(line, "| "+mu+" ") {
						require.NotRegexp(t, `^\| *`+regexp.QuoteMeta(mu), line)
					}
				}
			}
			require.Contains(t, shown("md"), bayes.Column)
			require.NotRegexp(t, `(?m)ε *= *(`+strings.Join(mus, "|")+`)`, text)

			// Nothing outside private has it, and inside it is for the owner alone to read.
			require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				if strings.Contains(path, string(filepath.Separator)+"private"+string(filepath.Separator)) && !strings.Contains(path, filepath.Join("private", "results")) {
					if strings.Contains(string(data), "bayes_mu") {
						info := testkit.Must(d.Info())
						require.Zero(t, info.Mode().Perm()&0o077, path)
					}
					return nil
				}
				require.NotContains(t, string(data), "bayes_mu", path)
				require.NotContains(t, string(data), "pate.bayes", path)
				return nil
			}))

			// Commands that account, verify and state take neither the file nor the figure in it.
			kept := filepath.Join(dir, "private", "bayes.json")
			data := testkit.Must(os.ReadFile(kept))
			var figures [][]json.RawMessage
			require.NoError(t, json.Unmarshal(data, &figures))
			one := filepath.Join(t.TempDir(), "one.json")
			require.NoError(t, os.WriteFile(one, figures[0][0], 0o600))
			as := func(format string) string {
				path := filepath.Join(t.TempDir(), "as.json")
				require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, format, figures[0][0]), 0o600))
				return path
			}
			for _, line := range [][]string{
				{"account", kept}, {"account", one}, {"account", as(`{"relation":"add_remove","events":[%s]}`)},
				{"account", as(`{"relation":"add_remove","events":[{"type":"pure","epsilon":%s}]}`)},
				{"account", as(`{"relation":"add_remove","events":[{"type":"repeated","count":2,"event":%s}]}`)},
				{"ledger", "show", kept}, {"ledger", "show", one}, {"ledger", "verify", one}, {"ledger", "statement", one}, {"ledger", "statement", kept},
			} {
				code, out, _ := execute(t, "", line...)
				require.NotEqual(t, shell.ExitDone, code, line)
				require.Empty(t, out, line)
			}

			// The ledger, its statement and its account are of differential privacy alone.
			ledgers := testkit.Must(filepath.Glob(filepath.Join(dir, "private", "ledger", "*.jsonl")))
			require.NotEmpty(t, ledgers)
			for _, format := range []string{"json", "md", "table"} {
				for _, line := range [][]string{{"ledger", "show", ledgers[0], "--format", format}, {"ledger", "statement", ledgers[0], "--format", format}} {
					code, out, _ := execute(t, "", line...)
					if code == shell.ExitUsage {
						continue // has no such format
					}
					require.Equal(t, shell.ExitDone, code, line)
					require.NotContains(t, strings.ToLower(strings.ReplaceAll(out, dir, "")), "bayes", line)
				}
			}
		})
	}
}

// requireOwnColumns requires that the figures stand in columns whose name begins with own, and
// not in that of epsilon, and that no row is releasable.
func requireOwnColumns(t *testing.T, records [][]string, figures []string, epsilon, own string) {
	found := 0
	for column, name := range records[0] {
		for _, row := range records[1:] {
			if strings.HasPrefix(name, own) {
				require.Contains(t, figures, row[column])
				found++
			}
			if strings.Contains(name, epsilon) {
				require.NotContains(t, figures, row[column], name)
			}
			if name == "releasable" {
				require.Equal(t, "false", row[column])
			}
		}
	}
	require.Equal(t, len(figures)*(len(records)-1), found)
}

// execute runs one command line in this process.
func execute(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}
