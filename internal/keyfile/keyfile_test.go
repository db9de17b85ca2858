package keyfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

func TestAKeyIsKeptAndDestroyed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.key")
	_, ok := testkit.Must2(keyfile.Read(path))
	require.False(t, ok)
	require.NoError(t, keyfile.Destroy(path))
	require.Error(t, keyfile.Write(path, rng.Key{}))

	key := testkit.Must(rng.NewKey())
	require.NoError(t, keyfile.Write(path, key))
	require.Equal(t, os.FileMode(0o600), testkit.Must(os.Stat(path)).Mode().Perm())
	got, ok := testkit.Must2(keyfile.Read(path))
	require.True(t, ok)
	require.True(t, got.Releasable())
	require.Equal(t, key.Stream().Uint64(), got.Stream().Uint64())

	require.NoError(t, keyfile.Destroy(path))
	require.NoFileExists(t, path)
}

func TestHalfDestroyedAndDamagedKeys(t *testing.T) {
	path := testkit.Write(t, filepath.Join(t.TempDir(), "run.key"), "---------")
	_, ok := testkit.Must2(keyfile.Read(path))
	require.False(t, ok)
	require.NoError(t, os.WriteFile(path, []byte("secret"), 0o600))
	_, _, err := keyfile.Read(path)
	require.ErrorContains(t, err, "not a key")
	require.NotContains(t, err.Error(), "secret")
}
