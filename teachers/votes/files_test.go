package votes_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

// A spool is read as often as its votes are asked for, and nothing stays of it.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // of Windows
	ctx := context.Background()
	file := text(",", "\n", number)
	spool := testkit.Must(votes.NewSpool(ctx, io.MultiReader(strings.NewReader(file[:9]), strings.NewReader(file[9:])), int64(len(file))))
	left := testkit.Must(filepath.Glob(filepath.Join(dir, "*")))
	if runtime.GOOS == "windows" {
		require.Len(t, left, 1)
	} else {
		require.Empty(t, left, "it has no name")
	}
	opt := votes.Options{Classes: 3, Spool: spool}
	for range 2 {
		s := testkit.Must(votes.Open(ctx, []string{votes.Stdin}, opt))
		requireMeant(t, s)
		require.Equal(t, s.Hash(), testkit.Must(votes.Check(ctx, []string{votes.Stdin}, opt)).Hash)
	}
	require.ErrorContains(t, testkit.Err(votes.Open(ctx, []string{votes.Stdin, "other.csv"}, opt)), "name it alone")
	_, err := votes.Open(ctx, []string{votes.Stdin}, votes.Options{Classes: 3})
	require.ErrorContains(t, err, "no such file", "without a spool it is a file")
	require.NoError(t, spool.Close())
	require.Error(t, testkit.Err(votes.Open(ctx, []string{votes.Stdin}, opt)))
	left = testkit.Must(filepath.Glob(filepath.Join(dir, "*")))
	require.Empty(t, left)
}

// What is too long, cannot be read or never ends is refused, and nothing stays of it.
func TestSpoolRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	require.ErrorContains(t, testkit.Err(votes.NewSpool(context.Background(), strings.NewReader("0,1,2\n"), 5)), "more than 5 bytes")
	broken, w := io.Pipe()
	require.NoError(t, w.CloseWithError(os.ErrPermission))
	require.ErrorIs(t, testkit.Err(votes.NewSpool(context.Background(), broken, 5)), os.ErrPermission)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	silent, w := io.Pipe()
	defer w.Close()
	require.ErrorIs(t, testkit.Err(votes.NewSpool(ctx, silent, 5)), context.Canceled)
	require.Empty(t, testkit.Must(filepath.Glob(filepath.Join(dir, "*"))))
}

// What is written is read as the counts of the same queries, and by the same hash in both forms; the text
// is that of a database's export.
func TestCountsComeBack(t *testing.T) {
	ctx := context.Background()
	var file strings.Builder
	for q := range 300 {
		for k := range 40 {
			if k > 0 {
				file.WriteByte(',')
			}
			if (q+k)%7 > 0 {
				file.WriteString([]string{"0", "1", "2", "100"}[q*k%4])
			}
		}
		file.WriteByte('\n')
	}
	for _, classes := range []int{101, 300} { // bytes and words of votes
		s := opened(t, votes.Options{Classes: classes}, []byte(file.String()))
		var hashes [][32]byte
		for _, form := range []bool{false, true} {
			var b bytes.Buffer
			require.NoError(t, s.WriteCounts(ctx, &b, form))
			back := opened(t, votes.Options{Counts: true, Teachers: 40}, b.Bytes())
			require.Equal(t, classes, back.Classes())
			hashes = append(hashes, back.Hash())
			want := votesOf(t, s)
			require.Equal(t, want, votesOf(t, back))
			require.Positive(t, want[1][100])
		}
		require.Equal(t, hashes[0], hashes[1])
		part := testkit.Must(s.Part(10, 12))
		var b bytes.Buffer
		require.NoError(t, part.WriteCounts(ctx, &b, false))
		require.Equal(t, 2, strings.Count(b.String(), "\n"))
	}
}

// Ledgers and keys recorded these hashes.
func TestHashesStay(t *testing.T) {
	counts := opened(t, votes.Options{Counts: true, Teachers: 5}, []byte("1,2\n0,3\n")).Hash()
	require.Equal(t, "ffe8a45c38f15b6f", fmt.Sprintf("%x", counts[:8]))
	labels := opened(t, votes.Options{Classes: 3}, []byte("1,2\n0,\n")).Hash()
	require.Equal(t, "2b595508b3b7d6c1", fmt.Sprintf("%x", labels[:8]))
}

func votesOf(t *testing.T, s *votes.Source) (out [][]int) {
	t.Helper()
	for b, err := range s.Histograms(context.Background()) {
		require.NoError(t, err)
		out = append(out, b.Histogram.Reveal())
	}
	return out
}

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
		c := testkit.Must(votes.OpenCounts(ctx, []string{pattern}, opt, add))
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
		c := testkit.Must(votes.OpenCounts(ctx, []string{pattern}, opt, add))
		last := testkit.Must(os.OpenFile(filepath.Join(dir, "part-2.csv"), os.O_APPEND|os.O_WRONLY, 0))
		require.NoError(t, testkit.Err(last.WriteString("0,2\n")))
		require.NoError(t, last.Close())
		require.ErrorContains(t, c.Write(ctx, new(bytes.Buffer), true), "changed while it was in use")
		require.NoError(t, os.Truncate(last.Name(), 4*queries))
	}
	for k := range 65 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("small-%d.csv", k)), []byte("1,0\n"), 0o600))
	}
	require.ErrorContains(t, testkit.Err(votes.OpenCounts(ctx, []string{filepath.Join(dir, "small-*.csv")}, opt, true)), "65 files are added")
	require.ErrorContains(t, testkit.Err(votes.OpenCounts(ctx, []string{pattern}, votes.Options{Counts: true}, true)), "need Counts, Teachers")
}

// What pandas writes with its index is read as the same votes without, and what is no such file is refused.
func TestIndexColumn(t *testing.T) {
	plain := opened(t, votes.Options{Classes: 3}, []byte("0,1,2\n1,,0\n2,2,2\n"))
	for name, text := range map[string]string{
		"pandas":        ",ann,bob,eve\n0,0,1,2\n1,1,,0\n2,2,2,2\n",
		"named":         "index,ann,bob,eve\n17,0,1,2\n3,1,,0\nx,2,2,2\n",
		"no header":     "0,0,1,2\n1,1,,0\n2,2,2,2\n",
		"CR, BOM, tail": "\xef\xbb\xbf;ann;bob;eve\r\n\"a;b\";0;1;2\r\nb;1;;0\r\nc;2;2;2\r\n\r\n\n",
		"open end":      "0,0,1,2\n1,1,,0\n2,2,2,2",
		"missing":       "0,0.0,1.0,2\n1,1.0,,0\n2,2.0,2,2\n",
	} {
		s := opened(t, votes.Options{Classes: 3, IndexColumn: true}, []byte(text))
		require.Equal(t, plain.Hash(), s.Hash(), name)
		require.Contains(t, s.Kind(), "its column 1 left out")
	}
	for name, text := range map[string]string{"one cell": "a\nb\n", "one cell later": "0,1\n1\n", "npy": "\x93NUMPY\x01\x00", "empty": ""} {
		require.Error(t, testkit.Err(votes.OpenIn(votes.Options{Classes: 3, IndexColumn: true}, []byte(text))), name)
	}
	_, err := votes.OpenIn(votes.Options{Classes: 3}, []byte(",ann,bob\n0,1,2\n1,2,0\n"))
	require.ErrorContains(t, err, `column 1 is named "": row numbers`)
}

// requireSameHistograms opens labels, teachers x queries, and counts, and demands that they agree.
func requireSameHistograms(t *testing.T, labels, counts string, classes int) {
	one := testkit.Must(votes.Open(context.Background(), []string{labels}, votes.Options{Classes: classes, Transpose: true}))
	other := testkit.Must(votes.Open(context.Background(), []string{counts}, votes.Options{Counts: true, Teachers: one.Teachers()}))
	require.Equal(t, one.Queries(), other.Queries())
	var want [][]int
	for b, err := range other.Histograms(context.Background()) {
		require.NoError(t, err)
		want = append(want, b.Histogram.Reveal())
	}
	for b, err := range one.Histograms(context.Background()) {
		require.NoError(t, err)
		require.Equal(t, want[b.Query], b.Histogram.Reveal(), "query %d", b.Query)
	}
	_, err := votes.Open(context.Background(), []string{labels}, votes.Options{Classes: classes - 1, Transpose: true})
	require.ErrorContains(t, err, "outside the classes")
}

// TestRealVotes reads votes that NumPy wrote.
func TestRealVotes(t *testing.T) {
	requireSameHistograms(t, filepath.Join("testdata", "mnist_labels.npy"), filepath.Join("testdata", "mnist_counts.csv"), 10)
}
