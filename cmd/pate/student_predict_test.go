package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// TestPredictionsOfASeededStudentAreMarked: a file of predictions leaves without what the
// terminal said of the model.
func TestPredictionsOfASeededStudentAreMarked(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("private.csv"), people(false), 0o600))
	require.NoError(t, os.WriteFile(at("public.csv"), clearPublic(), 0o600))
	typed(t, shell.ExitDone, publishing(at("private.csv"), at("public.csv"), at("out"), "--seed", "3")...)
	var model string
	require.NoError(t, filepath.WalkDir(at("out"), func(path string, _ os.DirEntry, err error) error {
		if filepath.Base(path) == "student.model" {
			model = path
		}
		return err
	}))
	typed(t, shell.ExitDone, "predict", model, at("public.csv"), "--public-rows", "--probability", "--out", at("new.csv"))
	lines := strings.Split(strings.TrimSpace(read(t, at("new.csv"))), "\n")
	require.Len(t, lines, 13)
	for i, line := range lines {
		require.True(t, strings.HasSuffix(line, map[bool]string{true: ",releasable", false: ",false"}[i == 0]), line)
	}
}
