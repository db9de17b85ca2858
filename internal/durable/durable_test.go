package durable_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/testkit"
)

func TestWriteFileReplacesWhollyOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "votes")
	require.NoError(t, durable.WriteBytes(path, 0o600, []byte("old")))

	full := errors.New("disk full")
	require.ErrorIs(t, durable.WriteFile(path, 0o600, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half of the new")
		return full
	}), full)
	require.Equal(t, "old", string(testkit.Must(os.ReadFile(path))))

	require.NoError(t, durable.WriteBytes(path, 0o600, []byte("new")))
	require.Equal(t, "new", string(testkit.Must(os.ReadFile(path))))
	secret := testkit.Must(durable.ReadSecret(path)) // refuses what others may read
	require.Equal(t, "new", string(secret))
	long := make([]byte, 1<<16)
	require.NoError(t, durable.WriteBytes(path, 0o600, long))
	require.Equal(t, long, testkit.Must(durable.ReadSecret(path)))
	require.NoError(t, durable.WriteBytes(path, 0o600, append(long, 0)))
	require.ErrorContains(t, testkit.Err(durable.ReadSecret(path)), "more than 65536 bytes")

	require.Len(t, testkit.Must(os.ReadDir(dir)), 1, "a temporary file was left behind")
}

func TestWriteFileIntoAMissingFolder(t *testing.T) {
	require.Error(t, durable.WriteBytes(filepath.Join(t.TempDir(), "no", "file"), 0o600, nil))
}

// TestSweepRemovesItsOwn checks that Sweep removes only what was left behind with its tag. Files stay that
// others are writing for the same name, or for a name that begins with it.
func TestSweepRemovesItsOwn(t *testing.T) {
	dir := t.TempDir()
	others := []string{
		".labels.tag2.1.tmp", ".labels.1.tmp", ".labels.tag.1.tmp.tmp", ".labels.tag..tmp", ".labels.tag.csv.1.tmp",
		".labels.csv.tag.1.tmp", ".labels.tag.1", "labels.tag.1.tmp", ".other.tag.1.tmp",
	}
	for _, name := range append(others, ".labels.tag.1.tmp", ".labels.tag.23.tmp") {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	durable.Sweep(filepath.Join(dir, "labels"), "tag")
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
			require.Equal(t, os.FileMode(0o600), testkit.Must(os.Stat(found[0])).Mode().Perm())
			_, err := io.WriteString(w, "all of it")
			return err
		}))
		require.Equal(t, os.FileMode(0o644), testkit.Must(os.Stat(path)).Mode().Perm())
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

// TestSameSeesThroughLinks compares one file with another spelling, a link, a link to its folder and a hard
// link, and also names of a file that does not exist yet.
func TestSameSeesThroughLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(name ...string) string { return filepath.Join(append([]string{dir}, name...)...) }
	require.NoError(t, os.Mkdir(at("sub"), 0o700))
	require.NoError(t, os.WriteFile(at("votes"), nil, 0o600))
	require.NoError(t, os.WriteFile(at("other"), nil, 0o600))
	require.NoError(t, os.Symlink("votes", at("link")))
	require.NoError(t, os.Symlink(dir, at("sub", "up")))
	require.NoError(t, os.Symlink("new", at("dangling")))
	require.NoError(t, os.Symlink("loop", at("loop")))
	require.NoError(t, os.Link(at("votes"), at("hard")))
	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{at("votes"), dir + "/sub/../votes", true},
		{at("votes"), at("link"), true},
		{at("votes"), at("sub", "up", "votes"), true},
		{at("votes"), at("hard"), true},
		{at("votes"), at("other"), false},
		{at("new"), at("sub", "up", "new"), true},
		{at("new"), at("dangling"), true},
		{at("new"), at("votes"), false},
		{at("none", "x"), at("none", "x"), true},
		{at("none", "x"), at("votes"), false},
	} {
		for range 2 {
			require.Equal(t, tc.same, testkit.Must(durable.Same(tc.a, tc.b)), "%s %s", tc.a, tc.b)
			tc.a, tc.b = tc.b, tc.a
		}
	}
	require.Error(t, testkit.Err(durable.Same(at("loop"), at("votes"))))
	require.True(t, testkit.Must(durable.Exists(at("dangling"))))
	require.NoError(t, durable.Writable(at("sub", "x")))
	require.NoFileExists(t, at("sub", "x"))
	require.Error(t, durable.Writable(at("none", "x")))
}

func TestHoldsIsExact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	text := bytes.Repeat([]byte("0123456789"), 1000)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	pieces := func(text []byte) func(io.Writer) error {
		return func(w io.Writer) error {
			for len(text) > 0 {
				n := min(7, len(text))
				if _, err := w.Write(text[:n]); err != nil {
					return err
				}
				text = text[n:]
			}
			return nil
		}
	}
	changed := bytes.Clone(text)
	changed[len(text)-1]++
	for _, tc := range []struct {
		text []byte
		want bool
	}{{text, true}, {text[1:], false}, {text[:len(text)-1], false}, {append(bytes.Clone(text), 'x'), false}, {changed, false}, {nil, false}} {
		require.Equal(t, tc.want, testkit.Must(durable.Holds(path, pieces(tc.text))))
	}
	failed := errors.New("no votes")
	require.ErrorIs(t, testkit.Err(durable.Holds(path, func(io.Writer) error { return failed })), failed)
	require.False(t, testkit.Must(durable.Holds(path+"2", pieces(text))))
}
