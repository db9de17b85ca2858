package learn

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/learn/site"
)

// TestExportedPagesAreTheirOwners: scripts run in the pages, so nobody but their owner may
// write them, and a link that stands where a page goes is replaced, not followed.
func TestExportedPagesAreTheirOwners(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	require.NoError(t, os.WriteFile(victim, []byte("whole"), 0o600))
	folder := filepath.Join(dir, "site")
	require.NoError(t, os.Mkdir(folder, 0o755))
	for _, name := range []string{"index.html", "course.js"} {
		require.NoError(t, os.Symlink(victim, filepath.Join(folder, name)))
	}
	single := filepath.Join(dir, "course.html")
	program := func(context.Context) (site.Program, error) { return site.Program{Packed: []byte("packed")}, nil }
	quiet := &shell.Globals{Stdout: io.Discard, Stderr: io.Discard}
	require.NoError(t, export(t.Context(), quiet, single, program))
	require.NoError(t, export(t.Context(), quiet, folder, program))

	kept, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "whole", string(kept))
	pages, err := filepath.Glob(filepath.Join(folder, "*"))
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
