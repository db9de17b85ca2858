//go:build cgo

package golearn_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/golearn"
)

// TestKNNFindsTheNearest uses one neighbour. That leaves no ties, so golearn must agree
// with the definition.
func TestKNNFindsTheNearest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	random := func(n int) teachers.Matrix {
		m := teachers.Matrix{Rows: n, Cols: 600, Stride: 600, Data: make([]float32, n*600)}
		for i := range m.Data {
			m.Data[i] = rnd.Float32()
		}
		return m
	}
	data := teachers.Dataset{X: random(60), Y: make([]int, 60), Classes: 30}
	for i := range data.Y {
		data.Y[i] = rnd.IntN(30)
	}
	learner, err := golearn.NewKNN(1, golearn.Pooling{})
	require.NoError(t, err)
	model, err := learner.Fit(context.Background(), data, rnd)
	require.NoError(t, err)
	queries := random(50)
	got := make([]int, 50)
	require.NoError(t, model.Predict(got, queries))
	for q := range got {
		nearest, best := 0, 1e9
		for i := range data.Y {
			var d2 float64
			for j := range data.X.Cols {
				d := float64(queries.Data[q*600+j]) - float64(data.X.Data[i*600+j])
				d2 += d * d
			}
			if d2 < best {
				nearest, best = i, d2
			}
		}
		require.Equal(t, data.Y[nearest], got[q])
	}
}
