package durable_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/testkit"
)

func TestUnchanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes")
	long := time.Now().Add(-time.Hour)
	write := func(text string) os.FileInfo {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, os.Chtimes(path, long, long))
		return testkit.Must(os.Stat(path))
	}
	was := write("1,2")
	require.True(t, durable.Unchanged(was, testkit.Must(os.Stat(path))))
	time.Sleep(20 * time.Millisecond) // a tick of the clock of the file system
	require.False(t, durable.Unchanged(was, write("2,1")), "in place")
	was = write("1,2")
	require.NoError(t, os.Rename(path, path+"0"))
	require.False(t, durable.Unchanged(was, write("2,1")), "in its place")
}

// Asking whether a folder can be written to gives no file a name, so that none stays where the process is
// killed.
func TestWritableLeavesNoNames(t *testing.T) {
	dir := t.TempDir()
	watch := testkit.Must(unix.InotifyInit1(unix.IN_NONBLOCK))
	defer unix.Close(watch)
	testkit.Must(unix.InotifyAddWatch(watch, dir, unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVE))
	require.NoError(t, durable.Writable(filepath.Join(dir, "ledger")))
	require.ErrorIs(t, testkit.Err(unix.Read(watch, make([]byte, 4096))), unix.EAGAIN)
	require.Error(t, durable.Writable(filepath.Join(dir, "none", "ledger")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	require.Error(t, durable.Writable(filepath.Join(dir, "file", "ledger")))
}
