package experiments

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Class by class, and weighed by the rows of the classes: the accuracy.
func TestRecall(t *testing.T) {
	labels, predicted := []int{0, 0, 0, 0, 1, 1, 3}, []int{0, 0, 0, 1, 1, 0, 3}
	r, rows := recall(predicted, labels, 4), classRows(labels, 4)
	require.Equal(t, []float64{0.75, 0.5, 0, 1}, r)
	require.Equal(t, []int{4, 2, 0, 1}, rows)
	sum := 0.0
	for y, n := range rows {
		sum += r[y] * float64(n)
	}
	require.InDelta(t, accuracy(predicted, labels), sum/float64(len(labels)), 1e-15)
	require.Equal(t, []float64{0.5, 0.25}, meanRecall([]Row{{Recall: []float64{0, 0.5}}, {Recall: []float64{1, 0}}}))
	require.Nil(t, meanRecall([]Row{{Recall: []float64{1}}, {}}), "a run that does not say")
	require.Nil(t, meanRecall([]Row{{}}))
	require.Equal(t, 1, majority([]int{2, 1, 1, 0, 2}, 3), "of equals the first")
}
