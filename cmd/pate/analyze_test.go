package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

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

// inJSON runs a command and reads the JSON that it prints.
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
