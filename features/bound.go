package features

import (
	"math"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"gonum.org/v1/gonum/blas/blas32"
)

// Standardize gives every vector mean 0 and standard deviation 1 over its own
// entries, hence the norm of the root of its length. A constant vector becomes 0.
type Standardize struct{ Of Extractor }

func (s Standardize) Name() string { return "standardize(" + s.Of.Name() + ")" }

func (s Standardize) Dim(shape dataset.Shape) int { return s.Of.Dim(shape) }

func (s Standardize) Extract(dst, img []float32, shape dataset.Shape) {
	s.Of.Extract(dst, img, shape)
	standardize(dst)
}

// ExtractBatch implements [batcher].
func (s Standardize) ExtractBatch(dst, x blas32.General, shape dataset.Shape) {
	extractBatch(s.Of, dst, x, shape)
	for i := range dst.Rows {
		standardize(dense.Row(dst, i))
	}
}

func standardize(v []float32) {
	mean := float32(kernel.Sum(v) / float64(len(v)))
	// Affine has double precision, in which a difference of two float32 rounds as it does in one step.
	kernel.Affine(v, v, float64(mean), 1)
	toNorm(v, math.Sqrt(float64(len(v))))
}

// UnitNorm divides every vector by its own Euclidean norm. A zero vector stays.
// With rows of norm 1 the gradient of a linear model is bounded by the size of its
// residual, so one clipping norm fits all rows.
type UnitNorm struct{ Of Extractor }

func (u UnitNorm) Name() string { return "unit(" + u.Of.Name() + ")" }

func (u UnitNorm) Dim(shape dataset.Shape) int { return u.Of.Dim(shape) }

func (u UnitNorm) Extract(dst, img []float32, shape dataset.Shape) {
	u.Of.Extract(dst, img, shape)
	toNorm(dst, 1)
}

// ExtractBatch implements [batcher].
func (u UnitNorm) ExtractBatch(dst, x blas32.General, shape dataset.Shape) {
	extractBatch(u.Of, dst, x, shape)
	for i := range dst.Rows {
		toNorm(dense.Row(dst, i), 1)
	}
}

// toNorm scales in float64, so that neither the largest nor the smallest
// float32 overflows or vanishes on the way. Below 1e-12 a vector counts as zero:
// what a subtraction of the mean leaves of a constant one.
func toNorm(v []float32, length float64) {
	norm := math.Sqrt(kernel.SquaredNorm(v))
	if norm < 1e-12 {
		clear(v)
		return
	}
	kernel.Affine(v, v, 0, length/norm)
}
