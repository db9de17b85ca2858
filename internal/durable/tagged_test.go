package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/testkit"
)

// TestSweepRemovesItsOwn checks that Sweep removes only what was left behind with its tag. Files stay that
// others are writing for the same name, or for a name that begins with it.
func TestSweepRemovesItsOwn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "labels")
	others := []string{
		".labels.tag2.1.tmp", ".labels.1.tmp", ".labels.tag.1.tmp.tmp", ".labels.tag..tmp", ".labels.tag.csv.1.tmp",
		".labels.csv.tag.1.tmp", ".labels.tag.1", "labels.tag.1.tmp", ".other.tag.1.tmp",
	}
	for _, name := range append(others, ".labels.tag.1.tmp", ".labels.tag.23.tmp") {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	durable.Sweep(path, "tag")
	left := testkit.Must(os.ReadDir(dir))
	var names []string
	for _, f := range left {
		names = append(names, f.Name())
	}
	require.ElementsMatch(t, others, names)
	durable.Sweep(filepath.Join(dir, "no", "folder"), "tag")
}

// TestWriteTaggedIsSecretUntilItHasItsName checks that only the owner can read the file while it is
// written, whatever its mode will be, and that Sweep finds it.
func TestWriteTaggedIsSecretUntilItHasItsName(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"labels", "a*b"} {
		path := filepath.Join(dir, name)
		require.NoError(t, durable.WriteTagged(path, "tag", 0o644, func(w io.Writer) error {
			found := testkit.Must(filepath.Glob(filepath.Join(dir, ".*.tag.*.tmp")))
			require.Len(t, found, 1)
			info := testkit.Must(os.Stat(found[0]))
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
			_, err := io.WriteString(w, "all of it")
			return err
		}))
		info := testkit.Must(os.Stat(path))
		require.Equal(t, os.FileMode(0o644), info.Mode().Perm())
	}
	path := filepath.Join(dir, "killed")
	gone := errors.New("gone")
	require.ErrorIs(t, durable.WriteTagged(path, "tag", 0o644, func(io.Writer) error {
		durable.Sweep(path, "other")
		require.Len(t, glob(t, dir, ".killed.*"), 1)
		durable.Sweep(path, "tag")
		require.Empty(t, glob(t, dir, ".killed.*"))
		return gone
	}), gone)
}

func glob(t *testing.T, dir, pattern string) []string {
	return testkit.Must(filepath.Glob(filepath.Join(dir, pattern)))
}
