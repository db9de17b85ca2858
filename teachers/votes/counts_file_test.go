package votes_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/teachers/votes"
)

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
		part, err := s.Part(10, 12)
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, part.WriteCounts(ctx, &b, false))
		require.Equal(t, 2, strings.Count(b.String(), "\n"))
	}
}

func votesOf(t *testing.T, s *votes.Source) (out [][]int) {
	t.Helper()
	for b, err := range s.Histograms(context.Background()) {
		require.NoError(t, err)
		out = append(out, b.Histogram.Reveal())
	}
	return out
}
