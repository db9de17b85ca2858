package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/tuned"
)

// What a search costs is what the ledger, `pate account` and the model say, and the files
// are those of any other release.
func TestTuneIsOneEntryThatAnybodyCanCheck(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	data, out, settings := filepath.Join(dir, "blobs.csv"), filepath.Join(dir, "run"), filepath.Join(dir, "settings.csv")
	blobs(t, data, 300)
	require.NoError(t, os.WriteFile(settings, []byte("learning_rate,momentum\n0.5,\n1,0\n"), 0o600))
	base := []string{"tune", "--data", data, "--label", "kind", "--delta", "1e-4", "--steps", "5", "--settings", settings}
	planned, _ := typed(t, shell.ExitDone, append(base, "--plan", "--format", "json")...)
	require.NoDirExists(t, out)
	var plan struct {
		Laws []struct {
			Law   string
			Noise float64 `json:"noise_multiplier"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(planned), &plan))
	require.Equal(t, "logarithmic", plan.Laws[0].Law)

	base = append(base, "--out", out)
	text, errs := typed(t, shell.ExitDone, append(base, "--format", "json")...)
	var r tuned.Result
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	require.Equal(t, tuned.Schema, r.Schema)
	require.True(t, r.Releasable)
	require.Equal(t, plan.Laws[0].Noise, r.Noise)
	require.LessOrEqual(t, r.Epsilon, 2.0)
	require.NotContains(t, text, `"runs"`)
	require.NotContains(t, errs, "%")

	account, _ := typed(t, shell.ExitDone, "account", filepath.Join(out, "public", "accounts", "tuned.json"), "--delta", "1e-4", "--accountant", "rdp", "--format", "json")
	var accounted struct {
		Results []struct{ Epsilon float64 }
	}
	require.NoError(t, json.Unmarshal([]byte(account), &accounted))
	require.Equal(t, r.Epsilon, accounted.Results[0].Epsilon)
	book, model := filepath.Join(out, "private", "ledger", "tuned.jsonl"), filepath.Join(out, "public", "models", "tuned.model")
	verified, _ := typed(t, shell.ExitDone, "ledger", "verify", book, "--model", model)
	require.Contains(t, verified, "it is what entry 1 released")
	page, _ := typed(t, shell.ExitDone, "ledger", "statement", book)
	require.Contains(t, page, "best of a random number of runs")
	predicted, _ := typed(t, shell.ExitDone, "predict", model, data, "--label", "kind", "--scored", "--format", "json")
	require.Contains(t, predicted, `"delta": 0.0001`)

	again, errs := typed(t, shell.ExitDone, append(base, "--format", "json")...)
	require.Equal(t, text, again)
	require.Contains(t, errs, "complete")
	for format, want := range map[string]string{"table": "untuned", "md": "| ε | test %", "csv": "epsilon,delta,law", "latex": `\begin{tabular}`} {
		text, _ := typed(t, shell.ExitDone, append(base, "--format", format)...)
		require.Contains(t, text, want)
		for line := range strings.Lines(text) {
			require.True(t, format != "table" || utf8.RuneCountInString(line) <= 81, line)
		}
	}
	require.NoError(t, os.WriteFile(settings, []byte("learning_rate\n3\n"), 0o600))
	_, errs = typed(t, shell.ExitInvalidInput, base...)
	require.Contains(t, errs, "another run", "a file of settings is part of what a run is")
}

// No run is an answer: exit code 6, charged, and no model.
func TestTuneMayChooseNothing(t *testing.T) {
	dir := t.TempDir()
	data, out := filepath.Join(dir, "blobs.csv"), filepath.Join(dir, "run")
	blobs(t, data, 120)
	text, errs := typed(t, shell.ExitAllDeclined, "tune", "--data", data, "--label", "kind", "--delta", "1e-4", "--steps", "3", "--learning-rate", "1,2", "--law", "poisson", "--runs", "1e-9", "--out", out)
	require.Contains(t, text, "none")
	require.Contains(t, errs, "nothing was chosen")
	_, errs = typed(t, shell.ExitInvalidInput, "predict", filepath.Join(out, "public", "models", "tuned.model"), data)
	require.Contains(t, errs, "model")
	shown, _ := typed(t, shell.ExitDone, "ledger", "verify", filepath.Join(out, "private", "ledger", "tuned.jsonl"))
	require.Contains(t, shown, "1 reserved, 1 committed")
}

// Students are chosen at no charge, elsewhere; and a declared number of units is all that is
// said of it.
func TestTuneOfStudentsAndOfADeclaredNumber(t *testing.T) {
	_, errs := typed(t, shell.ExitUsage, "tune", "student", "--out", filepath.Join(t.TempDir(), "run"))
	require.Contains(t, errs, "costs nothing")
	require.Contains(t, errs, "pate student PUBLIC --labels LABELS")
	typed(t, shell.ExitUsage, "tune", "else")
	var plans [2]string
	for i, rows := range []int{120, 123} {
		data := filepath.Join(t.TempDir(), "blobs.csv")
		blobs(t, data, rows)
		args := []string{"tune", "--data", data, "--label", "kind", "--delta", "1e-4", "--steps", "3", "--learning-rate", "1,2", "--size", "100"}
		plans[i], _ = typed(t, shell.ExitDone, append(args, "--plan", "--format", "json")...)
		if i == 0 {
			text, errs := typed(t, shell.ExitDone, append(args, "--law", "geometric", "--runs", "2", "--out", filepath.Join(t.TempDir(), "run"), "--format", "json")...)
			require.Contains(t, text, `"private": 100`)
			require.Contains(t, errs, "units: 100, as declared")
		}
		typed(t, shell.ExitUsage, append(args, "--plan", "--size", "1")...)
	}
	require.Equal(t, plans[0], plans[1])
}
