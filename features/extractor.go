package features

import (
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
)

// Extractor computes the features of one image. Implementations keep no state
// between images and may be used from many goroutines at once.
type Extractor interface {
	// Name identifies the extractor and all its parameters, for reports and for
	// the names of files that hold features.
	Name() string
	// Dim is the number of features for images of this shape, or 0 if such images
	// cannot be used.
	Dim(shape dataset.Shape) int
	// Extract fills dst, of length Dim(shape), from img, of length shape.Pixels(),
	// row-major. It does not change img. It panics if a length is wrong, and at no
	// pixels: of those that are not finite, features need not be either.
	Extract(dst, img []float32, shape dataset.Shape)
}

// Raw is the pixels themselves.
type Raw struct{}

func (Raw) Name() string { return "raw" }

func (Raw) Dim(shape dataset.Shape) int { return shape.Pixels() }

func (r Raw) Extract(dst, img []float32, shape dataset.Shape) {
	checkLengths(r, dst, img, shape)
	copy(dst, img)
}

func checkLengths(e Extractor, dst, img []float32, shape dataset.Shape) {
	if len(img) != shape.Pixels() || len(dst) != e.Dim(shape) {
		panic("features: " + e.Name() + ": wrong length of image or destination")
	}
}

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
