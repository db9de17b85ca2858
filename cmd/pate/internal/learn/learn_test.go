package learn

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// run runs the command without a word on the terminal.
func run(t *testing.T, args ...string) {
	t.Helper()
	cmd := New(&shell.Globals{Stdout: io.Discard, Stderr: io.Discard})
	cmd.SetArgs(args)
	require.NoError(t, cmd.Execute())
}

// TestExportedPagesAreTheirOwners: scripts run in the pages, so nobody but their owner may
// write them, and a link that stands where a page goes is replaced, not followed.
func TestExportedPagesAreTheirOwners(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	require.NoError(t, os.WriteFile(victim, []byte("whole"), 0o600))
	site := filepath.Join(dir, "site")
	require.NoError(t, os.Mkdir(site, 0o755))
	for _, name := range []string{"index.html", "course.js"} {
		require.NoError(t, os.Symlink(victim, filepath.Join(site, name)))
	}
	single := filepath.Join(dir, "course.html")
	run(t, "--export", single)
	run(t, "--export", site)

	kept, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "whole", string(kept))
	pages, err := filepath.Glob(filepath.Join(site, "*"))
	require.NoError(t, err)
	require.Greater(t, len(pages), 8)
	for _, path := range append(pages, single) {
		info, err := os.Lstat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o644), info.Mode(), path)
	}
}

// TestServerEndsSlowConnections: neither a body that never ends nor a connection without
// requests is kept for good.
func TestServerEndsSlowConnections(t *testing.T) {
	s := server(http.NotFoundHandler())
	require.NotZero(t, s.ReadTimeout)
	require.NotZero(t, s.IdleTimeout)
}
