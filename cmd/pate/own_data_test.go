package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// TestOwnData types what docs/own-data.md tells readers to type, on a small table of
// invented patients in place of the real one. The number of teachers, which follows from
// --size, is cut with the table.
func TestOwnData(t *testing.T) {
	page := testkit.Must(os.ReadFile(filepath.Join("..", "..", "docs", "own-data.md")))
	var script strings.Builder
	fence := ""
	commands := 0
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```") && fence == "":
			fence = strings.TrimPrefix(line, "```")
		case strings.HasPrefix(line, "```"):
			fence = ""
		case fence == "bash":
			require.True(t, strings.HasPrefix(line, "pate "), line)
			commands++
			if strings.Contains(line, "--method dpsgd") {
				line = strings.ReplaceAll(line, "--size 60000", "--size 780")
			}
			line = strings.ReplaceAll(line, "--size 60000", "--teachers 60")
			line = strings.ReplaceAll(line, "--epsilon 2", "--epsilon 8")
			fmt.Fprintf(&script, "exec %s\n", line)
		}
	}
	require.Equal(t, 11, commands)
	for _, file := range []string{"release/public/labelled.csv", "release/public/student.model", "release/public/statement.html", "release/public/report.html", "predictions.csv", "student.json", "student.model", "statement.html", "model/public/labels.csv", "model/public/student.model"} {
		fmt.Fprintf(&script, "exists %s\n", file)
	}
	fmt.Fprintf(&script, "-- patients.csv --\n%s-- survey.csv --\n%s", patients(1800, 1), patients(120, 2))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "own-data.txtar"), []byte(script.String()), 0o600))
	testscript.Run(t, testscript.Params{Dir: dir, Setup: ownState})
}

// patients returns encounters, about two of each patient.
func patients(n int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	b := strings.Builder{}
	b.WriteString("encounter_id,patient_nbr,age,time_in_hospital,number_inpatient,insulin,readmitted\n")
	for i := range n {
		stay, before, age := r.IntN(14), r.IntN(6), 10*r.IntN(10)
		outcome := "NO"
		if stay+2*before+r.IntN(3) > 12 {
			outcome = "YES"
		}
		fmt.Fprintf(&b, "%d,%d,%d,%d,%d,%s,%s\n", int(seed)*100_000+i, int(seed)*10_000+r.IntN(n/2), age, stay, before, []string{"No", "Up", "Steady"}[r.IntN(3)], outcome)
	}
	return b.String()
}
