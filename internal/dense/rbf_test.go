package dense

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRBFBlockIsTheKernel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	x, z := New(67, 31), New(150, 31)
	for _, m := range []Matrix{x, z} {
		for i := range m.Data {
			m.Data[i] = float32(rnd.NormFloat64())
		}
	}
	copy(Row(z, 3), Row(x, 5))
	nx, nz := SquaredNorms(x), SquaredNorms(z)
	out := New(x.Rows, z.Rows)
	k := RBF{Gamma: .02}
	k.Block(out, x, nx, z, nz)
	for i := range x.Rows {
		for j := range z.Rows {
			var d2 float64
			for c, v := range Row(x, i) {
				d := float64(v) - float64(Row(z, j)[c])
				d2 += d * d
			}
			require.InDelta(t, math.Exp(-.02*d2), float64(Row(out, i)[j]), 3e-6)
		}
	}
	require.InDelta(t, 1, Row(out, 5)[3], 3e-6)
}
