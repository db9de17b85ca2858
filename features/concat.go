package features

import (
	"strings"

	"github.com/pate-go/pate/dataset"
	"gonum.org/v1/gonum/blas/blas32"
)

// Concat puts the features of several extractors one behind the other.
type Concat []Extractor

func (c Concat) Name() string {
	names := make([]string, len(c))
	for i, e := range c {
		names[i] = e.Name()
	}
	return "concat(" + strings.Join(names, ",") + ")"
}

// Dim returns the sum of theirs, if all can be computed.
func (c Concat) Dim(shape dataset.Shape) int {
	sum := 0
	for _, e := range c {
		dim := e.Dim(shape)
		if dim == 0 {
			return 0
		}
		sum += dim
	}
	return sum
}

func (c Concat) Extract(dst, img []float32, shape dataset.Shape) {
	checkLengths(c, dst, img, shape)
	for _, e := range c {
		dim := e.Dim(shape)
		e.Extract(dst[:dim:dim], img, shape)
		dst = dst[dim:]
	}
}

// ExtractBatch implements [batcher].
func (c Concat) ExtractBatch(dst, x blas32.General, shape dataset.Shape) {
	checkBatch(c, dst, x, shape)
	at := 0
	for _, e := range c {
		dim := e.Dim(shape)
		extractBatch(e, colsOf(dst, at, at+dim), x, shape)
		at += dim
	}
}
