package features

import (
	"math"

	"github.com/pate-go/pate/experiments/dataset"
)

// Standardize subtracts from every vector its own mean and divides by its own
// standard deviation times the root of its length, so that the result has mean 0
// and norm 1. A constant vector becomes 0.
type Standardize struct{ Of Extractor }

func (s Standardize) Name() string { return "standardize(" + s.Of.Name() + ")" }

func (s Standardize) Dim(shape dataset.Shape) int { return s.Of.Dim(shape) }

func (s Standardize) Extract(dst, img []float32, shape dataset.Shape) {
	s.Of.Extract(dst, img, shape)
	var sum float64
	for _, v := range dst {
		sum += float64(v)
	}
	mean := float32(sum / float64(len(dst)))
	for i := range dst {
		dst[i] -= mean
	}
	toUnitNorm(dst)
}

// UnitNorm divides every vector by its own Euclidean norm. A zero vector stays.
// With rows of norm 1 the gradient of a linear model is bounded by the size of its
// residual, so one clipping norm fits all rows.
type UnitNorm struct{ Of Extractor }

func (u UnitNorm) Name() string { return "unit(" + u.Of.Name() + ")" }

func (u UnitNorm) Dim(shape dataset.Shape) int { return u.Of.Dim(shape) }

func (u UnitNorm) Extract(dst, img []float32, shape dataset.Shape) {
	u.Of.Extract(dst, img, shape)
	toUnitNorm(dst)
}

// toUnitNorm scales in float64, so that neither the largest nor the smallest
// float32 overflows or vanishes on the way. Below 1e-12 a vector counts as zero:
// what a subtraction of the mean leaves of a constant one.
func toUnitNorm(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	norm := math.Sqrt(sum)
	if norm < 1e-12 {
		clear(v)
		return
	}
	for i, x := range v {
		v[i] = float32(float64(x) / norm)
	}
}
