package features

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
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

// GroupNorm splits every vector into Groups runs of equal length and gives each
// mean 0 and variance 1 over its own entries (Wu and He 2018). Over a
// [Scattering], whose channels lie one behind the other, 27 groups are three
// channels each.
type GroupNorm struct {
	Of     Extractor
	Groups int
}

// groupFloor is added to the variance, as is usual: a group without contrast
// stays small instead of showing noise.
const groupFloor = 1e-5

func (g GroupNorm) Name() string { return fmt.Sprintf("groupnorm%d(%s)", g.Groups, g.Of.Name()) }

// Dim returns that of Of, if it divides by Groups.
func (g GroupNorm) Dim(shape dataset.Shape) int {
	dim := g.Of.Dim(shape)
	if g.Groups < 1 || dim%g.Groups != 0 {
		return 0
	}
	return dim
}

func (g GroupNorm) Extract(dst, img []float32, shape dataset.Shape) {
	checkLengths(g, dst, img, shape)
	g.Of.Extract(dst, img, shape)
	g.normalize(dst)
}

// ExtractBatch implements [batcher].
func (g GroupNorm) ExtractBatch(dst, x blas32.General, shape dataset.Shape) {
	checkBatch(g, dst, x, shape)
	extractBatch(g.Of, dst, x, shape)
	for i := range dst.Rows {
		g.normalize(dense.Row(dst, i))
	}
}

func (g GroupNorm) normalize(v []float32) {
	n := len(v) / g.Groups
	for ; len(v) > 0; v = v[n:] {
		group := v[:n]
		mean := kernel.Sum(group) / float64(n)
		kernel.Affine(group, group, mean, 1/math.Sqrt(kernel.SquaresAbout(group, mean)/float64(n)+groupFloor))
	}
}
