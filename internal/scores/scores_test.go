package scores

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Class by class, and weighed by the rows of the classes: the accuracy.
func TestRecall(t *testing.T) {
	labels, predicted := []int{0, 0, 0, 0, 1, 1, 3}, []int{0, 0, 0, 1, 1, 0, 3}
	r, rows := Recall(predicted, labels, 4), ClassRows(labels, 4)
	require.Equal(t, []float64{0.75, 0.5, 0, 1}, r)
	require.Equal(t, []int{4, 2, 0, 1}, rows)
	sum := 0.0
	for y, n := range rows {
		sum += r[y] * float64(n)
	}
	require.Equal(t, 5, Right(predicted, labels))
	require.InDelta(t, Accuracy(predicted, labels), sum/float64(len(labels)), 1e-15)
	require.Equal(t, []float64{0.5, 0.25}, MeanRecall([][]float64{{0, 0.5}, {1, 0}}))
	require.Nil(t, MeanRecall([][]float64{{1}, nil}), "a run that does not say")
	require.Nil(t, MeanRecall([][]float64{nil}))
}

func TestDeviation(t *testing.T) {
	require.InDelta(t, math.Sqrt(0.02), Deviation([]float64{0.5, 0.7}, 0.6), 1e-15)
	require.Zero(t, Deviation([]float64{0.5, 0.5, 0.5}, 0.5))
}

func TestStandardError(t *testing.T) {
	require.InDelta(t, 0.005, StandardError(0.5, 9996), 1e-12)
	require.InDelta(t, math.Sqrt(16./18*(2./18)/18), StandardError(1, 14), 1e-12, "14 of 14 right is no certainty")
	require.InDelta(t, StandardError(0, 10), StandardError(1, 10), 1e-15)
}
