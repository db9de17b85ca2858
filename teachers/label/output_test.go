package label

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
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

// Labels are written in the words of the votes; what was drawn is the same.
func TestLabelsHaveTheNamesOfClasses(t *testing.T) {
	lines := func(sep string, cells ...string) string {
		var b strings.Builder
		for _, c := range cells {
			b.WriteString(strings.Repeat(c+sep, 29) + c + "\n")
		}
		return b.String()
	}
	seed := uint64(7)
	for name, c := range map[string]struct {
		opt   votes.Options
		votes string
		want  string
	}{
		"names": {votes.Options{ClassNames: []string{"flu", "gout, acute", "none"}},
			lines(";", "flu", "none", "gout, acute"), "0,flu\n1,none\n2,\"gout, acute\"\n"},
		"counts, named": {votes.Options{Counts: true, Teachers: 30, ClassNames: []string{"flu", "gout", "none"}},
			"30,0,0\n0,0,30\n0,30,0\n", "0,flu\n1,none\n2,gout\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c1 := standard(t)
			path := write(t, filepath.Join(t.TempDir(), "v.csv"), c.votes)
			source := testkit.Must(votes.Open(context.Background(), []string{path}, c.opt))
			c1.Votes, c1.Seed, c1.Setting = source, &seed, aggregate.Setting{Mechanism: "gnmax", Values: map[string]float64{"sigma": 1}}
			c1.Account.Epsilon = 100
			made := release1(t, c1)
			require.Equal(t, 3, made.Answered)
			require.Equal(t, heading(withheldColumn)+c.want, read(t, c1.Out))
			require.True(t, release1(t, c1).Complete)
		})
	}
}

// TestLabelsOfAWaivedRefusalAreMarked: what a ledger has waived marks every form of its labels, and none
// but runs that waive the same are charged to it.
func TestLabelsOfAWaivedRefusalAreMarked(t *testing.T) {
	for _, form := range []string{".csv", ".jsonl", ".parquet"} {
		c := standard(t)
		c.Out = filepath.Join(t.TempDir(), "labels"+form)
		c.Account.Waived = []string{"duplicates"}
		r := release1(t, c)
		require.False(t, r.Releasable)
		require.Equal(t, c.Account.Waived, r.Account.Waived)
		require.Contains(t, read(t, c.Out), "label_not_releasable")
		info := testkit.Must(os.Stat(c.Out))
		require.Zero(t, info.Mode().Perm()&0o077)
		require.True(t, release1(t, c).Complete, "and the labels are recognised")
		file := testkit.Must(os.Open(c.Out))
		defer file.Close()
		n := testkit.Must(countLabels(file, func(string, string) {}))
		require.Equal(t, counts{r.Asked, r.Answered}, n)

		before := read(t, c.Ledger)
		c.Account.Waived, c.Pool = nil, "another"
		require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "waived")
		require.Equal(t, before, read(t, c.Ledger))
	}
	c := standard(t)
	r := release1(t, c)
	require.True(t, r.Releasable)
	require.True(t, strings.HasPrefix(read(t, c.Out), heading(labelColumn)))
	c.Account.Waived, c.Pool = []string{"duplicates"}, "another"
	require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "waived")

	c = standard(t)
	c.Account.Waived, c.Out = []string{"duplicates"}, filepath.Join(t.TempDir(), "labels.npy")
	require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "no mark")
}
