package features

import (
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"gonum.org/v1/gonum/blas/blas32"
)

// batcher is an [Extractor] that is faster on several images at once.
type batcher interface {
	Extractor
	// ExtractBatch does what Extract does for every row of x, to the last bit.
	ExtractBatch(dst, x blas32.General, shape dataset.Shape)
}

// extractBatch extracts the rows of x with whatever e offers.
func extractBatch(e Extractor, dst, x blas32.General, shape dataset.Shape) {
	if b, ok := e.(batcher); ok {
		b.ExtractBatch(dst, x, shape)
		return
	}
	for i := range x.Rows {
		e.Extract(dense.Row(dst, i), dense.Row(x, i), shape)
	}
}

// colsOf returns the columns from <= j < to; it shares memory with x.
func colsOf(x blas32.General, from, to int) blas32.General {
	return blas32.General{Rows: x.Rows, Cols: to - from, Stride: x.Stride, Data: x.Data[from:]}
}

func checkBatch(e Extractor, dst, x blas32.General, shape dataset.Shape) {
	if x.Rows != dst.Rows || x.Cols != shape.Pixels() || dst.Cols != e.Dim(shape) {
		panic("features: " + e.Name() + ": wrong size of images or destination")
	}
}
