package votes_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/teachers/votes"
)

// requireSameHistograms opens labels, teachers x queries, and counts, and demands that they agree.
func requireSameHistograms(t *testing.T, labels, counts string, classes int) {
	one, err := votes.Open(context.Background(), []string{labels}, votes.Options{Classes: classes, Transpose: true})
	require.NoError(t, err)
	other, err := votes.Open(context.Background(), []string{counts}, votes.Options{Counts: true, Teachers: one.Teachers()})
	require.NoError(t, err)
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
	_, err = votes.Open(context.Background(), []string{labels}, votes.Options{Classes: classes - 1, Transpose: true})
	require.ErrorContains(t, err, "outside the classes")
}

// TestRealVotes reads votes that NumPy wrote.
func TestRealVotes(t *testing.T) {
	requireSameHistograms(t, filepath.Join("testdata", "mnist_labels.npy"), filepath.Join("testdata", "mnist_counts.csv"), 10)
}
