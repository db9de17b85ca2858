package teachers_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/teachers"
)

// requireSameHistograms opens labels, teachers x queries, and counts, and
// demands that they agree.
func requireSameHistograms(t *testing.T, labels, counts string, classes int) {
	one, err := teachers.OpenVotes(context.Background(), []string{labels}, teachers.VotesOptions{Classes: classes, Transpose: true})
	require.NoError(t, err)
	other, err := teachers.OpenVotes(context.Background(), []string{counts}, teachers.VotesOptions{Counts: true, Teachers: one.Teachers()})
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
	_, err = teachers.OpenVotes(context.Background(), []string{labels}, teachers.VotesOptions{Classes: classes - 1, Transpose: true})
	require.ErrorContains(t, err, "outside the classes")
}

// TestRealVotes reads votes that NumPy wrote.
func TestRealVotes(t *testing.T) {
	requireSameHistograms(t, filepath.Join("testdata", "mnist_labels.npy"), filepath.Join("testdata", "mnist_counts.csv"), 10)
}

// TestAllRealVotes reads the whole of what testdata has the beginning of.
func TestAllRealVotes(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "golden", "pate", "votes")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("reference votes are not beside the repository: %v", err)
	}
	requireSameHistograms(t, filepath.Join(dir, "mnist_regen_250_teachers_labels.npy"), filepath.Join(dir, "mnist_regen_counts.csv"), 10)
	for _, name := range []string{"mnist_250_student_labels_lap_20.npy", "mnist_regen_true_labels.npy"} {
		// Vectors are read where there is more than one file.
		s, err := teachers.OpenVotes(context.Background(), []string{filepath.Join(dir, name[:len(name)-1]+"?")}, teachers.VotesOptions{Classes: 10})
		require.NoError(t, err, name)
		require.Equal(t, []int{9000, 1}, []int{s.Queries(), s.Teachers()}, name)
	}
}
