package label

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/crash"
)

// Two runs on two ledgers write labels of one name at the same time: neither takes the
// other's file away, while it is written or after. Until they are committed, labels
// are their owner's alone.
func TestRunsOnTwoLedgersLeaveEachOtherAlone(t *testing.T) {
	first := standard(t)
	dir := filepath.Dir(first.Out)
	second := first
	second.Ledger += "2"
	var made Result
	_, err := Run(crash.With(context.Background(), func(step string) error {
		if step != "drawn" {
			return nil
		}
		writing, err := filepath.Glob(filepath.Join(dir, ".labels.csv.*.tmp"))
		require.NoError(t, err)
		require.Len(t, writing, 1)
		info, err := os.Stat(writing[0])
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		prefix := second
		prefix.Out, prefix.Ledger = filepath.Join(dir, "labels"), prefix.Ledger+"3"
		release1(t, prefix)
		made = release1(t, second)
		require.FileExists(t, writing[0], "a live file")
		return nil
	}), first)
	require.ErrorContains(t, err, "is there already")
	info, err := os.Stat(second.Out)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode().Perm())
	again := release1(t, second)
	require.True(t, again.Complete, "the labels of the second run are as it left them")
	require.Equal(t, made.Answered, again.Answered)

	require.NoError(t, os.Rename(first.Out, first.Out+".second"))
	require.True(t, release1(t, first).Resumed)
	left, err := filepath.Glob(filepath.Join(dir, ".labels*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// What a run left when it was killed is removed when it goes on.
func TestKilledRunIsSweptByItself(t *testing.T) {
	c := standard(t)
	var left string
	_, err := Run(crash.With(context.Background(), func(step string) error {
		if step != "drawn" {
			return nil
		}
		writing, err := filepath.Glob(filepath.Join(filepath.Dir(c.Out), ".labels.csv.*.tmp"))
		require.NoError(t, err)
		require.Len(t, writing, 1)
		left = writing[0]
		return errCrash
	}), c)
	require.Error(t, err)
	write(t, left, "half of the lab") // a process that is killed does not remove it
	release1(t, c)
	require.NoFileExists(t, left)
}
