package scores

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"
)

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

func TestAUROC(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		n := 2 + rnd.IntN(40)
		of, labels := blas32.General{Rows: n, Cols: 2, Stride: 3, Data: make([]float32, 3*n)}, make([]int, n)
		margin := func(i int) float32 { return of.Data[3*i+1] - of.Data[3*i] }
		for i := range labels { // many are equal
			of.Data[3*i], of.Data[3*i+1], of.Data[3*i+2] = float32(rnd.IntN(5)), float32(rnd.IntN(5)), float32(rnd.IntN(5))
			labels[i] = rnd.IntN(2)
		}
		labels[0], labels[1] = 0, 1
		right, pairs := 0.0, 0.0
		for i, a := range labels {
			for j, b := range labels {
				if a == 0 && b == 1 {
					pairs++
					switch {
					case margin(j) > margin(i):
						right++
					case margin(j) == margin(i):
						right += 0.5
					}
				}
			}
		}
		require.InDelta(t, right/pairs, *AUROC(of, labels), 1e-12)
	}
	two := func(a, b float32) blas32.General {
		return blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{0, a, 0, b}}
	}
	require.Nil(t, AUROC(two(1, 2), []int{0, 0}), "a class has no row")
	require.Nil(t, AUROC(two(1, 2), []int{1, 1}))
	require.Nil(t, AUROC(two(1, float32(math.NaN())), []int{0, 1}))
	infinite := float32(math.Inf(1))
	require.Equal(t, 1.0, *AUROC(two(-infinite, infinite), []int{0, 1}))
	require.Equal(t, 0.5, *AUROC(two(-infinite, -infinite), []int{0, 1}))
}

func TestAreas(t *testing.T) {
	a, b := 0.5, 0.7
	mean, sd := Areas([]*float64{&a, &b})
	require.InDelta(t, 0.6, *mean, 1e-15)
	require.InDelta(t, math.Sqrt(0.02), *sd, 1e-15)
	mean, sd = Areas([]*float64{&a})
	require.Equal(t, a, *mean)
	require.Nil(t, sd)
	mean, sd = Areas([]*float64{&a, nil})
	require.Nil(t, mean)
	require.Nil(t, sd)
}
