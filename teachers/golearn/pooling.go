package golearn

import (
	"fmt"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

// Pooling averages squares of Size x Size pixels of images of Rows x Cols. A row of features holds an image
// row by row. Rows and Cols must be multiples of Size. The zero Pooling leaves features as they are.
type Pooling struct {
	Rows, Cols, Size int
}

// features returns how many of the given number of features remain.
func (p Pooling) features(from int) (int, error) {
	if p == (Pooling{}) {
		return from, nil
	}
	if p.Size < 1 || p.Rows < 1 || p.Cols < 1 || p.Rows%p.Size != 0 || p.Cols%p.Size != 0 {
		return 0, fmt.Errorf("golearn: Pooling of %d x %d images by %d", p.Rows, p.Cols, p.Size)
	}
	if from%p.Cols != 0 || from/p.Cols != p.Rows {
		return 0, fmt.Errorf("golearn: Pooling of %d x %d images, but rows have %d features", p.Rows, p.Cols, from)
	}
	return (p.Rows / p.Size) * (p.Cols / p.Size), nil
}

// apply writes the pooled features of one row to dst. The length of dst is what features returns.
func (p Pooling) apply(dst, src []float32) {
	if p == (Pooling{}) {
		copy(dst, src)
		return
	}
	clear(dst)
	across := p.Cols / p.Size
	weight := 1 / float32(p.Size*p.Size)
	for i, v := range src {
		dst[i/p.Cols/p.Size*across+i%p.Cols/p.Size] += weight * v
	}
}

func (p Pooling) matrix(x teachers.Matrix, features int) teachers.Matrix {
	out := teachers.Matrix{Rows: x.Rows, Cols: features, Stride: features, Data: make([]float32, x.Rows*features)}
	for i := range x.Rows {
		p.apply(dense.Row(out, i), dense.Row(x, i))
	}
	return out
}
