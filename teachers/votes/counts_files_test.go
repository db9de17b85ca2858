package votes_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/teachers/votes"
)

// TestCountsOfManyFiles: sums and rows are right over many blocks; a file that changes after it was checked
// is told, and so are too many.
func TestCountsOfManyFiles(t *testing.T) {
	const queries = 50_000
	dir, ctx := t.TempDir(), context.Background()
	pattern := filepath.Join(dir, "part-*.csv")
	opt := votes.Options{Counts: true, Teachers: 30}
	for k := range 3 {
		var text bytes.Buffer
		for q := range queries {
			fmt.Fprintf(&text, "%d,%d\n", (q+k)%7, k)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("part-%d.csv", k)), text.Bytes(), 0o600))
	}
	written := func(add bool) string {
		c, err := votes.OpenCounts(ctx, []string{pattern}, opt, add)
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, c.Write(ctx, &out, false))
		return out.String()
	}
	var added, appended bytes.Buffer
	for q := range queries {
		fmt.Fprintf(&added, "%d,3\n", q%7+(q+1)%7+(q+2)%7)
	}
	for k := range 3 {
		for q := range queries {
			fmt.Fprintf(&appended, "%d,%d\n", (q+k)%7, k)
		}
	}
	require.Equal(t, added.String(), written(true))
	require.Equal(t, appended.String(), written(false))

	for _, add := range []bool{true, false} {
		c, err := votes.OpenCounts(ctx, []string{pattern}, opt, add)
		require.NoError(t, err)
		last, err := os.OpenFile(filepath.Join(dir, "part-2.csv"), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = last.WriteString("0,2\n")
		require.NoError(t, err)
		require.NoError(t, last.Close())
		require.ErrorContains(t, c.Write(ctx, new(bytes.Buffer), true), "changed while it was in use")
		require.NoError(t, os.Truncate(last.Name(), 4*queries))
	}
	for k := range 65 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("small-%d.csv", k)), []byte("1,0\n"), 0o600))
	}
	_, err := votes.OpenCounts(ctx, []string{filepath.Join(dir, "small-*.csv")}, opt, true)
	require.ErrorContains(t, err, "65 files are added")
	_, err = votes.OpenCounts(ctx, []string{pattern}, votes.Options{Counts: true}, true)
	require.ErrorContains(t, err, "need Counts, Teachers")
}
