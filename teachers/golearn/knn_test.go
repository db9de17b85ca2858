//go:build cgo

package golearn_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/golearn"
)

// One neighbour leaves no ties, so golearn must agree with the definition.
func TestKNNFindsTheNearest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	data, queries := drawn(rnd, 60, 600, 30), drawn(rnd, 50, 600, 30).X
	model := testkit.Must(testkit.Must(golearn.NewKNN(1, golearn.Pooling{})).Fit(context.Background(), data, rnd))
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
