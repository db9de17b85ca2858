package shell

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTargetsAreSwept: what a killed process left of a file goes when the file is written again.
func TestTargetsAreSwept(t *testing.T) {
	dir := t.TempDir()
	litter, other := filepath.Join(dir, ".page.html.17.tmp"), filepath.Join(dir, ".other.html.17.tmp")
	for _, path := range []string{litter, other} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	require.NoError(t, Target{Flag: "--out", Path: filepath.Join(dir, "page.html")}.CheckReplaceable())
	require.NoFileExists(t, litter)
	require.FileExists(t, other)
}
