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

func TestWriteFileReplacesWhollyOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "votes")
	require.NoError(t, durable.WriteBytes(path, 0o600, []byte("old")))

	full := errors.New("disk full")
	err := durable.WriteFile(path, 0o600, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half of the new")
		return full
	})
	require.ErrorIs(t, err, full)
	got := testkit.Must(os.ReadFile(path))
	require.Equal(t, "old", string(got))

	require.NoError(t, durable.WriteBytes(path, 0o600, []byte("new")))
	got = testkit.Must(os.ReadFile(path))
	require.Equal(t, "new", string(got))
	secret := testkit.Must(durable.ReadSecret(path)) // refuses what others may read
	require.Equal(t, "new", string(secret))

	names := testkit.Must(os.ReadDir(dir))
	require.Len(t, names, 1, "a temporary file was left behind")
}

func TestWriteFileIntoAMissingFolder(t *testing.T) {
	require.Error(t, durable.WriteBytes(filepath.Join(t.TempDir(), "no", "file"), 0o600, nil))
}
