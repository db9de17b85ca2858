package results_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/testkit"
)

func TestWhatMayBePublishedLiesApart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	f := results.Folder(dir)
	require.NoError(t, f.Keep("votes.npy", nil))
	require.NoError(t, os.Chmod(f.Private("votes.npy"), 0o644))
	require.False(t, testkit.Must(f.Settle()))
	text := func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }
	for _, releasable := range []bool{true, false} {
		for _, name := range []string{"results.json", filepath.Join("accounts", "a.json")} {
			require.NoError(t, f.Write(releasable, name, text))
		}
	}
	require.NoError(t, f.Write(false, "report.html", text))
	modes := map[string]fs.FileMode{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		info := testkit.Must(e.Info())
		name, err := filepath.Rel(dir, path)
		modes[filepath.ToSlash(name)] = info.Mode().Perm()
		return err
	}))
	require.Equal(t, map[string]fs.FileMode{
		".": modes["."], "private/votes.npy": 0o600, "public": 0o755, "public/results.json": 0o644, "public/accounts": 0o755, "public/accounts/a.json": 0o644,
		"private": 0o700, "private/results": 0o700, "private/results/results.json": 0o600, "private/results/accounts": 0o700, "private/results/accounts/a.json": 0o600,
		"private/results/report.html": 0o600,
	}, modes)
	for name, want := range map[string]string{"results.json": "public/results.json", "report.html": "private/results/report.html"} {
		require.Equal(t, filepath.Join(dir, filepath.FromSlash(want)), testkit.Must(f.Find(name)))
	}
}

func TestPublishedFilesHaveOneTime(t *testing.T) {
	f := results.Folder(t.TempDir())
	require.NoError(t, f.Keep("votes.npy", nil))
	for _, name := range []string{"a", "b/c"} {
		require.NoError(t, f.Write(true, filepath.FromSlash(name), func(io.Writer) error { return nil }))
	}
	early := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(f.Public("a"), early, early))
	require.True(t, testkit.Must(f.Settle()))
	one := testkit.Must(os.Stat(f.Public("a")))
	for _, path := range []string{f.Public("b"), f.Public("b", "c"), f.Public()} {
		require.Equal(t, one.ModTime(), testkit.Must(os.Stat(path)).ModTime(), path)
	}
	require.Zero(t, one.ModTime().Nanosecond())
}

func TestSweepTakesWhatKilledProcessesLeft(t *testing.T) {
	f := results.Folder(t.TempDir())
	keep := f.Private("run-0", "votes.npy")
	for _, path := range []string{f.Public(".labels.csv.12.tmp"), f.Private("run-0", ".votes.npy.3.tmp"), keep} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	f.Sweep()
	require.FileExists(t, keep)
	require.NoFileExists(t, f.Public(".labels.csv.12.tmp"))
	require.NoFileExists(t, f.Private("run-0", ".votes.npy.3.tmp"))
}

func TestStrangers(t *testing.T) {
	f := results.Folder(t.TempDir())
	for _, name := range []string{"lock", "run.key", ".config.json.7.tmp"} {
		require.NoError(t, f.Keep(name, nil))
	}
	require.Empty(t, testkit.Must(f.Strangers()))
	require.NoError(t, f.Keep("lock", []byte("a file of that name")))
	require.NoError(t, f.Write(true, "labels.csv", func(io.Writer) error { return nil }))
	found := testkit.Must(f.Strangers())
	require.Equal(t, []string{f.Public("labels.csv"), f.Private("lock")}, found)
	require.NoError(t, f.Keep("config.json", nil))
	require.Empty(t, testkit.Must(f.Strangers()))
}
