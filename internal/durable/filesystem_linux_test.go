package durable_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/durable"
)

// A file that was swapped for one of the same size and time of modification is another.
func TestUnchanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes")
	long := time.Now().Add(-time.Hour)
	write := func(text string) os.FileInfo {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, os.Chtimes(path, long, long))
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info
	}
	was := write("1,2")
	is, err := os.Stat(path)
	require.NoError(t, err)
	require.True(t, durable.Unchanged(was, is))
	time.Sleep(20 * time.Millisecond) // a tick of the clock of the file system
	require.False(t, durable.Unchanged(was, write("2,1")), "in place")
	was = write("1,2")
	require.NoError(t, os.Rename(path, path+"0"))
	require.False(t, durable.Unchanged(was, write("2,1")), "in its place")
}
