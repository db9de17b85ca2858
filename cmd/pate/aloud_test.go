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

// A table with everything that people have in tables is read aloud, and what cannot help is
// left out.
func TestTablesAreReadAloud(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString(",patient_id,visit,weight,ward,note,seen,label\n")
	for i := range 400 {
		fmt.Fprintf(&b, "%d,%d,v%05d,\"%d,%d\",%s,came at %d with pain,%02d.%02d.2024,%c\n", i, 5000+i*7%150, (i*7919)%100000, 50+i%40, i%10, []string{"north", "south"}[i%2], i*31, 1+i%28, 1+i%12, 'a'+i/3%2)
	}
	file := filepath.Join(dir, "t.csv")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	text, errs := typed(t, shell.ExitDone, "dpsgd", "--data", file, "--header", "yes", "--delta", "1e-4", "--steps", "3", "--format", "json")
	for _, want := range []string{
		`column 1 +row numbers without a name -> left out`, `patient_id +id-like, and ids repeat -> left out`, `visit +id-like: .* -> left out`,
		`weight +numeric, with decimal commas -> 1 feature`, `ward +category, 2 levels -> 2 features`, `note +free text -> left out`, `seen +date, like 02.01.2006 -> 1 feature`,
		`warning: ids repeat in column patient_id, .* --unit`,
	} {
		require.Regexp(t, want, errs)
	}
	var r struct {
		Rows []struct {
			Accuracy      float64 `json:"accuracy"`
			StandardError float64 `json:"standard_error"`
			Dimensions    int     `json:"dimensions"`
		} `json:"rows"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	require.Equal(t, 4, r.Rows[0].Dimensions)
	require.InDelta(t, 0.07, r.Rows[0].StandardError, 0.03)

	_, errs = typed(t, shell.ExitDone, "dpsgd", "--data", file, "--label", "label", "--unit", "patient_id", "--keep", "visit", "--drop", "note,seen", "--delta", "1e-4", "--steps", "3")
	require.NotContains(t, errs, "warning")
	require.NotContains(t, errs, "seen")
	require.Regexp(t, `visit +category, \d+ levels -> \d+ features`, errs)

	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(b.String(), ",label", ",kind", 1)), 0o600))
	_, errs = typed(t, shell.ExitInvalidInput, "compare", "--data", file, "--header", "yes", "--delta", "1e-4")
	require.Contains(t, errs, "name the column of the class with --label")
	require.Contains(t, errs, "ward, note, seen, kind")
}
