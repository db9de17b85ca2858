package features

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
)

func matrixOf(rows, cols, stride int) blas32.General {
	return blas32.General{Rows: rows, Cols: cols, Stride: stride, Data: make([]float32, rows*stride)}
}

// TestBatchesAreExact: the features of an image do not change by a bit with the
// images beside it, their number or its place; nothing is written between rows.
func TestBatchesAreExact(t *testing.T) {
	shape := dataset.Shape{Rows: 17, Cols: 12}
	s, err := NewScattering(shape)
	require.NoError(t, err)
	set := randomSet(2*lanes+3, shape)
	for _, e := range []batcher{s, GroupNorm{Of: s, Groups: 27}, Deskew{}, Deskew{Of: s}, Standardize{Of: s}, UnitNorm{Of: GroupNorm{Of: s, Groups: 27}}} {
		dim := e.Dim(shape)
		alone := make([]float32, dim)
		for _, rows := range []int{0, 1, lanes - 1, lanes, 2*lanes + 2} {
			dst := matrixOf(rows+1, dim, dim+3)
			for i := range dst.Data {
				dst.Data[i] = -7
			}
			e.ExtractBatch(dst, dense.Rows(set.X, 0, rows+1), shape)
			e.Extract(alone, dense.Row(set.X, rows), shape)
			require.Equal(t, alone, dense.Row(dst, rows), "%s, %d rows", e.Name(), rows+1)
			for i := range dst.Rows {
				require.Equal(t, []float32{-7, -7, -7}, dst.Data[i*dst.Stride+dim:(i+1)*dst.Stride])
			}
		}
	}
	require.Panics(t, func() { s.ExtractBatch(matrixOf(2, s.Dim(shape), s.Dim(shape)), matrixOf(1, 204, 204), shape) })
	require.Panics(t, func() {
		s.Extract(make([]float32, s.Dim(shape)), make([]float32, 144), dataset.Shape{Rows: 12, Cols: 12})
	})
}

func TestGroupNorm(t *testing.T) {
	shape := dataset.Shape{Rows: 6, Cols: 9}
	g := GroupNorm{Of: Raw{}, Groups: 3}
	require.Equal(t, 54, g.Dim(shape))
	require.Zero(t, GroupNorm{Of: Raw{}, Groups: 4}.Dim(shape))
	require.Zero(t, GroupNorm{Of: Raw{}}.Dim(shape))
	rnd := rand.New(rand.NewPCG(1, 7))
	img, out := make([]float32, 54), make([]float32, 54)
	for i := range img {
		img[i] = float32(1+i/18) * rnd.Float32()
		if i >= 36 {
			img[i] = 0.3
		}
	}
	g.Extract(out, img, shape)
	for group := range 2 {
		var sum, squares float64
		for _, v := range out[group*18 : (group+1)*18] {
			sum += float64(v)
			squares += float64(v) * float64(v)
		}
		require.InDelta(t, 0, sum, 1e-5)
		require.InDelta(t, 1, math.Sqrt(squares/18), 1e-3)
	}
	for _, v := range out[36:] {
		require.InDelta(t, 0, v, 1e-4, "a group without contrast")
	}
}
