package student

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/dense"
)

// TestProductsWith: four rows at a time have the bits of one after the other, whatever is
// left over.
func TestProductsWith(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for rows := range 10 {
		z := dense.New(rows, 70)
		for i := range z.Data {
			z.Data[i] = rnd.Float32() - 0.5
		}
		z.Cols = 61 // the first columns only
		v := make([]float32, z.Cols)
		for j := range v {
			v[j] = rnd.Float32() - 0.5
		}
		got, want := make([]float32, rows), make([]float32, rows)
		for i := range want {
			for j, x := range dense.Row(z, i) {
				want[i] += x * v[j]
			}
		}
		productsWith(got, z, v)
		require.Equal(t, want, got, "%d rows", rows)
	}
}
