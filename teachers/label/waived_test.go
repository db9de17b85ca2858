package label

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
		info, err := os.Stat(c.Out)
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077)
		require.True(t, release1(t, c).Complete, "and the labels are recognised")
		file, err := os.Open(c.Out)
		require.NoError(t, err)
		defer file.Close()
		n, err := countLabels(file)
		require.NoError(t, err)
		require.Equal(t, counts{r.Asked, r.Answered}, n)

		before := read(t, c.Ledger)
		c.Account.Waived, c.Pool = nil, "another"
		_, err = Run(context.Background(), c)
		require.ErrorContains(t, err, "waived")
		require.Equal(t, before, read(t, c.Ledger))
	}
	c := standard(t)
	r := release1(t, c)
	require.True(t, r.Releasable)
	require.True(t, strings.HasPrefix(read(t, c.Out), heading(labelColumn)))
	c.Account.Waived, c.Pool = []string{"duplicates"}, "another"
	_, err := Run(context.Background(), c)
	require.ErrorContains(t, err, "waived")

	c = standard(t)
	c.Account.Waived, c.Out = []string{"duplicates"}, filepath.Join(t.TempDir(), "labels.npy")
	_, err = Run(context.Background(), c)
	require.ErrorContains(t, err, "no mark")
}
