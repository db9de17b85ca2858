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
				{"ledger", "show", kept}, {"ledger", "show", one}, {"verify", one}, {"ledger", "statement", one}, {"ledger", "statement", kept},
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

func execute(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// TestAnalyzeReproducesAPublishedRun: Confident-GNMax on the votes of 250 teachers
// on MNIST, from a file of labels that is teachers x queries.
func TestAnalyzeReproducesAPublishedRun(t *testing.T) {
	t.Parallel()
	votes := filepath.Join("..", "..", "..", "shared", "golden", "pate", "votes", "mnist_regen_250_teachers_labels.npy")
	if _, err := os.Stat(votes); err != nil {
		t.Skipf("the votes are not here: %v", err)
	}
	args := strings.Fields("votes analyze --transpose --classes 10 --mechanism confident --threshold 200 --sigma1 150 --sigma2 40 --delta 1e-5 --queries 0:640")
	var report struct {
		Schema             string
		Private            bool
		Queries            int
		ExpectedAnswered   float64                    `json:"expected_answered"`
		Independent        float64                    `json:"epsilon_data_independent"`
		IndependentClassic float64                    `json:"epsilon_data_independent_classic"`
		Dependent          float64                    `json:"epsilon_data_dependent"`
		DependentClassic   float64                    `json:"epsilon_data_dependent_classic"`
		Sanitized          struct{ Mean, SD float64 } `json:"epsilon_sanitized"`
		Order              float64
	}
	inJSON(t, &report, append(args, votes)...)
	require.Equal(t, "pate.analyze/1", report.Schema)
	require.True(t, report.Private)
	require.Equal(t, 640, report.Queries)
	require.InEpsilon(t, 348.3337880331965, report.ExpectedAnswered, 1e-9)
	require.InEpsilon(t, 3.057614676651289, report.Independent, 1e-9)
	require.InEpsilon(t, 3.5001503557966505, report.IndependentClassic, 1e-9)
	require.InEpsilon(t, 1.2829534533532154, report.Dependent, 1e-9)
	require.InEpsilon(t, 1.5331011096761344, report.DependentClassic, 1e-9)
	require.InEpsilon(t, 1.9668345761607275, report.Sanitized.Mean, 1e-8)
	require.InEpsilon(t, 0.30314359695746473, report.Sanitized.SD, 1e-8)
	require.Equal(t, 17.0, report.Order)
}

func inJSON(t *testing.T, to any, args ...string) {
	t.Helper()
	text, _ := typed(t, shell.ExitDone, append(args, "--format", "json")...)
	require.NoError(t, json.Unmarshal([]byte(text), to), text)
}

// TestPlansPromiseWhatLabelsCharge: the command of every plan, run as it is printed, is
// charged the epsilon of its row, to the digit and by the same accountant; and so says
// `pate votes analyze` of those votes, for what it knows.
func TestPlansPromiseWhatLabelsCharge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	votes := filepath.Join(dir, "counts.csv")
	require.NoError(t, os.WriteFile(votes, []byte(strings.Repeat("70,20,10\n5,80,15\n30,30,40\n", 10)), 0o600))
	type claim struct {
		Epsilon    float64
		Accountant string
	}
	charged := 0
	for _, by := range []string{"auto", "rdp"} {
		var planned struct {
			Alternatives []struct {
				claim
				Command string
			}
		}
		inJSON(t, &planned, strings.Fields("plan --epsilon 1.5 --simulate-accuracy 0.83 --teachers 100 --classes 3 --queries 30 --accountant "+by)...)
		for i, a := range planned.Alternatives {
			command := strings.NewReplacer("VOTES", votes+" --counts --teachers 100 --force",
				"run.jsonl", filepath.Join(dir, fmt.Sprintf("%s%d.jsonl", by, i)), "labels.csv", filepath.Join(dir, fmt.Sprintf("%s%d.csv", by, i))).Replace(a.Command)
			var labelled struct {
				claim
				Ledger struct{ Claim float64 }
			}
			inJSON(t, &labelled, strings.Fields(command)[1:]...)
			require.Equal(t, a.claim, labelled.claim, a.Command)
			require.Equal(t, a.Epsilon, labelled.Ledger.Claim, a.Command)
			require.LessOrEqual(t, a.Epsilon, 1.5)
			charged++
			if by == "auto" && strings.Contains(a.Command, "--mechanism gnmax") {
				require.Equal(t, "pld", a.Accountant)
				sigma := strings.Fields(command[strings.Index(command, "--sigma "):])[1]
				var analysed struct {
					Independent float64 `json:"epsilon_data_independent"`
					Accountant  string  `json:"accountant_data_independent"`
					RDP         float64 `json:"epsilon_data_independent_rdp"`
				}
				inJSON(t, &analysed, "votes", "analyze", votes, "--counts", "--mechanism", "gnmax", "--sigma", sigma)
				require.Equal(t, labelled.claim, claim{analysed.Independent, analysed.Accountant})
				require.Greater(t, analysed.RDP, 1.05*analysed.Independent)
			}
		}
	}
	require.Greater(t, charged, 12)
}
