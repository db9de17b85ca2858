//go:build unix

package durable_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/testkit"
)

type owned struct {
	fs.FileInfo
	uid uint32
}

func (o owned) Sys() any { return &syscall.Stat_t{Uid: o.uid} }

func TestExposedByOwner(t *testing.T) {
	path := testkit.Write(t, filepath.Join(t.TempDir(), "file"), "")
	info := testkit.Must(os.Stat(path))
	require.NoError(t, durable.Exposed(path, info))
	me := uint32(os.Geteuid())
	require.NoError(t, durable.Exposed(path, owned{info, me}))
	require.ErrorContains(t, durable.Exposed(path, owned{info, me + 1}), "belongs to user")
}

func TestSecretsAreTheOwnersAlone(t *testing.T) {
	dir := t.TempDir()
	path := testkit.Write(t, filepath.Join(dir, "key"), "secret")
	for _, mode := range []fs.FileMode{0o644, 0o640, 0o604, 0o620, 0o602, 0o666} {
		require.NoError(t, os.Chmod(path, mode))
		require.ErrorIs(t, testkit.Err(durable.ReadSecret(path)), durable.ErrExposed, "%v", mode)
	}
	for _, mode := range []fs.FileMode{0o600, 0o400} {
		require.NoError(t, os.Chmod(path, mode))
		require.Equal(t, "secret", string(testkit.Must(durable.ReadSecret(path))))
	}
	require.NoError(t, os.Symlink(path, filepath.Join(dir, "link")))
	require.ErrorIs(t, testkit.Err(durable.ReadSecret(filepath.Join(dir, "link"))), durable.ErrExposed)
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.ErrorIs(t, testkit.Err(durable.ReadSecret(filepath.Join(dir, "pipe"))), durable.ErrExposed)
	require.ErrorContains(t, testkit.Err(durable.OpenRegular(filepath.Join(dir, "pipe"))), "no regular file")
	require.ErrorIs(t, testkit.Err(durable.ReadSecret(filepath.Join(dir, "none"))), fs.ErrNotExist)
}

func TestPrivateFolders(t *testing.T) {
	dir := t.TempDir()
	private := filepath.Join(dir, "a", "b", "private")
	require.NoError(t, durable.PrivateFolder(private))
	require.NoError(t, durable.PrivateFolder(private), "it is there")
	require.Equal(t, fs.FileMode(0o700), testkit.Must(os.Stat(private)).Mode().Perm())
	for _, mode := range []fs.FileMode{0o770, 0o707, 0o777 | fs.ModeSticky} {
		require.NoError(t, os.Chmod(private, mode))
		require.ErrorIs(t, durable.PrivateFolder(private), durable.ErrExposed, "%v", mode)
	}
	require.NoError(t, os.Chmod(private, 0o700))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(private, link))
	require.ErrorIs(t, durable.PrivateFolder(link), durable.ErrExposed)
}

func TestLocksAreTheirOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock := testkit.Must(durable.Lock(context.Background(), path))
	defer unlock()
	require.Equal(t, os.FileMode(0o600), testkit.Must(os.Stat(path)).Mode())
}
