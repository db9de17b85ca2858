package votes_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/teachers/votes"
)

// A spool is read as often as its votes are asked for, and nothing stays of it.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // of Windows
	ctx := context.Background()
	file := text(",", "\n", number)
	spool, err := votes.NewSpool(ctx, io.MultiReader(strings.NewReader(file[:9]), strings.NewReader(file[9:])), int64(len(file)))
	require.NoError(t, err)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	if runtime.GOOS == "windows" {
		require.Len(t, left, 1)
	} else {
		require.Empty(t, left, "it has no name")
	}
	opt := votes.Options{Classes: 3, Spool: spool}
	for range 2 {
		s, err := votes.Open(ctx, []string{votes.Stdin}, opt)
		require.NoError(t, err)
		requireMeant(t, s)
		r, err := votes.Check(ctx, []string{votes.Stdin}, opt)
		require.NoError(t, err)
		require.Equal(t, s.Hash(), r.Hash)
	}
	_, err = votes.Open(ctx, []string{votes.Stdin, "other.csv"}, opt)
	require.ErrorContains(t, err, "name it alone")
	_, err = votes.Open(ctx, []string{votes.Stdin}, votes.Options{Classes: 3})
	require.ErrorContains(t, err, "no such file", "without a spool it is a file")
	require.NoError(t, spool.Close())
	_, err = votes.Open(ctx, []string{votes.Stdin}, opt)
	require.Error(t, err)
	left, err = filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// What is too long, cannot be read or never ends is refused, and nothing stays of it.
func TestSpoolRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	_, err := votes.NewSpool(context.Background(), strings.NewReader("0,1,2\n"), 5)
	require.ErrorContains(t, err, "more than 5 bytes")
	broken, w := io.Pipe()
	require.NoError(t, w.CloseWithError(os.ErrPermission))
	_, err = votes.NewSpool(context.Background(), broken, 5)
	require.ErrorIs(t, err, os.ErrPermission)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	silent, w := io.Pipe()
	defer w.Close()
	_, err = votes.NewSpool(ctx, silent, 5)
	require.ErrorIs(t, err, context.Canceled)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
