package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// What pate compare shows of DP-SGD is what pate dpsgd trains.
func TestCompareTrainsAsDPSGDDoes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "t.csv")
	require.NoError(t, os.WriteFile(file, people(false), 0o600))
	common := []string{"--data", file, "--label", "kind", "--unit", "who", "--delta", "1e-4", "--epsilon", "3", "--format", "json"}
	row := func(args ...string) map[string]any {
		text, _ := typed(t, shell.ExitDone, slices.Concat(args, common)...)
		var r struct{ Rows []map[string]any }
		require.NoError(t, json.Unmarshal([]byte(text), &r))
		require.Len(t, r.Rows, 1)
		return r.Rows[0]
	}
	alone := row("dpsgd", "--out", filepath.Join(dir, "a"))
	beside := row("compare", "--methods", "dpsgd/linear", "--out", filepath.Join(dir, "b"))
	for _, key := range []string{"epsilon", "steps", "sampling_probability", "noise_multiplier", "account"} {
		require.Equal(t, alone[key], beside[key], key)
	}
	typed(t, shell.ExitDone, "predict", filepath.Join(dir, "b", "public", "models", "epsilon-3-run-0.model"), file, "--label", "kind", "--unit", "who", "--scored")
}
