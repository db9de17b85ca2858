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
