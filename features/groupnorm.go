package features

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"gonum.org/v1/gonum/blas/blas32"
)

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
