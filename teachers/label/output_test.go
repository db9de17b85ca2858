package label

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/testkit"
)

// Two runs on two ledgers write labels of one name at the same time: neither takes the other's file away,
// while it is written or after. Until they are committed, labels are their owner's alone.
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
		writing := testkit.Must(filepath.Glob(filepath.Join(dir, ".labels.csv.*.tmp")))
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
	info := testkit.Must(os.Stat(second.Out))
	require.Equal(t, os.FileMode(0o644), info.Mode().Perm())
	again := release1(t, second)
	require.True(t, again.Complete, "the labels of the second run are as it left them")
	require.Equal(t, made.Answered, again.Answered)

	require.NoError(t, os.Rename(first.Out, first.Out+".second"))
	require.True(t, release1(t, first).Resumed)
	left := testkit.Must(filepath.Glob(filepath.Join(dir, ".labels*")))
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

// What may not leave is marked in every form of the labels, and an array, which has no place for a mark, is
// refused: labels of a seed, and of a ledger that has waived a check, to which only runs that waive the same
// are charged.
func TestLabelsOfAWaivedRefusalAreMarked(t *testing.T) {
	seed := uint64(3)
	for _, waived := range [][]string{nil, {"duplicates"}} {
		for _, form := range []Form{CSV, JSONL, Parquet, NPY} {
			c := standard(t)
			c.Out = filepath.Join(t.TempDir(), "labels."+string(form))
			if c.Account.Waived = waived; waived == nil {
				c.Seed = &seed
			}
			if form == NPY {
				require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "an array has no mark")
				require.NoFileExists(t, c.Ledger)
				continue
			}
			r := release1(t, c)
			require.False(t, r.Releasable)
			require.Equal(t, waived, r.Account.Waived)
			require.Contains(t, asCSV(t, read(t, c.Out)), heading(withheldColumn))
			require.Zero(t, testkit.Must(os.Stat(c.Out)).Mode().Perm()&0o077)
			require.True(t, release1(t, c).Complete, "and the labels are recognised")
			file := testkit.Must(os.Open(c.Out))
			defer file.Close()
			require.Equal(t, counts{r.Asked, r.Answered}, testkit.Must(countLabels(file, func(string, string) {})))
			if waived == nil {
				continue
			}
			before := read(t, c.Ledger)
			c.Account.Waived, c.Pool = nil, "another"
			require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "waived")
			require.Equal(t, before, read(t, c.Ledger))
		}
	}
	c := standard(t)
	r := release1(t, c)
	require.True(t, r.Releasable)
	require.True(t, strings.HasPrefix(read(t, c.Out), heading(labelColumn)))
	c.Account.Waived, c.Pool = []string{"duplicates"}, "another"
	require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "waived")
}
