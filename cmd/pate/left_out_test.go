package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// Who is in the data is public, and who of them carries a label that is no class is not: the
// number of units, and all that follows from it, are the same whoever does.
func TestNobodysLabelMovesTheNumberOfUnits(t *testing.T) {
	dir := t.TempDir()
	data, private, public := filepath.Join(dir, "t.csv"), filepath.Join(dir, "private.csv"), filepath.Join(dir, "public.csv")
	row := func(label string) string { return oddUnit{rows: []string{"1.00,2.00,red,WHO," + label}}.of(false)[0] }
	write := func(path, text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write(public, string(people(false)))
	// Of one unit all rows are left out, of another one of two rows.
	of := func(label string) string {
		return string(people(false, row(label), row(label), "2.00,1.00,red,who3,"+label, "2.00,1.00,red,who3,b"))
	}
	x, y := filepath.Join(dir, "x.npy"), filepath.Join(dir, "y.txt")
	u := filepath.Join(dir, "u.npy")
	write(x, string(npyFile(t, 200, 3, noise)))
	write(u, string(npyFile(t, 200, 1, func(i, _ int) float64 { return float64(i) })))
	shared := []string{"--label", "kind", "--unit", "who", "--class-names", "a,b,c", "--other-labels", "drop", "--delta", "1e-4", "--seed", "1", "--format", "json"}
	one := append([]string{"--data", data}, shared...)
	for name, args := range map[string][]string{
		"dpsgd":   append([]string{"dpsgd", "--steps", "4"}, one...),
		"quick":   append([]string{"dpsgd", "--steps", "4", "--quick", "--batch", "2", "--delta", "1e-3"}, one...),
		"pair":    append([]string{"dpsgd", private, "--public", public, "--steps", "4"}, shared...),
		"rows":    append([]string{"dpsgd", "--steps", "4", "--rows-per-unit", "2"}, one...),
		"compare": append([]string{"compare", "--methods", "dpsgd/linear,pate/gnmax"}, one...),
		"drawn":   append([]string{"compare", "--methods", "pate/gnmax", "--pool", "none", "--ranges", filepath.Join(dir, "ranges.csv")}, one...),
		"matrix":  {"dpsgd", "--data", x, "--labels", y, "--units", u, "--steps", "4", "--class-names", "a,b", "--other-labels", "drop", "--delta", "1e-4", "--seed", "1", "--format", "json"},
		"tune":    append([]string{"tune", "--steps", "4", "--learning-rate", "0.5,1", "--law", "geometric", "--runs", "1.5", "--score", "private"}, one...),
	} {
		t.Run(name, func(t *testing.T) {
			write(filepath.Join(dir, "ranges.csv"), declared)
			on := func(label string) map[string]any {
				write(data, of(label))
				write(private, of(label))
				write(y, strings.Repeat("a\nb\n", 50)+strings.Repeat(label+"\n", 50)+strings.Repeat("b\n", 50))
				out := filepath.Join(t.TempDir(), "run")
				text, errs := typed(t, shell.ExitDone, append(slices.Clone(args), "--out", out)...)
				var r map[string]any
				require.NoError(t, json.Unmarshal([]byte(text), &r))
				require.NotContains(t, strings.ToLower(errs), "no class")
				rows, _ := r["rows"].([]any)
				numbers := map[string]any{"private": r["private"], "teachers": r["teachers"], "noise": r["noise_multiplier"]}
				for _, row := range rows {
					for _, key := range []string{"sigma", "noise_multiplier", "sampling_probability", "steps", "clip_norm", "account"} {
						list, _ := numbers[key].([]any)
						numbers[key] = append(list, row.(map[string]any)[key])
					}
				}
				return numbers
			}
			require.Equal(t, on("a"), on("none of the classes"))
		})
	}
}
