package features

import (
	"fmt"
	"sync"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"gonum.org/v1/gonum/blas/blas32"
)

// Scattering is the 2-D scattering transform of order two with two scales and eight angles (Bruna and
// Mallat 2013), in the definition of Kymatio 0.3, Scattering2D(J=2, L=8): 81 channels of one value per 4x4
// pixels, for a 28x28 image 81 x 7 x 7, channel by channel. Channel 0 is the low-passed image, 1 to 16 the
// moduli of its wavelet transforms (scale, then angle), and 17 to 80 the moduli of the fine ones once more
// at the coarse scale (first angle, then second).
//
// All discrete Fourier transforms are products with small dense matrices, in a real basis and folded about
// the centre of the image; groups of eight images lie side by side in the columns of the other factor. That
// takes more operations than a fast Fourier transform and less time, since the products run at the speed of
// the machine's vector units.
//
// Several images at once ([batcher]) are many times faster than one by one. A Scattering may be used by
// many goroutines.
type Scattering struct {
	shape dataset.Shape
	plan  func() *scatteringPlan // made when the first image comes: many callers use Dim alone
	pool  sync.Pool              // of *scatteringMemory
}

const Channels = 1 + scales*angles + angles*angles

// maxScatteringSide bounds the tables, which grow with the cube of the side.
const maxScatteringSide = 128

// NewScattering prepares the transform of images of this shape, with sides of 5 to 128 pixels.
func NewScattering(shape dataset.Shape) (*Scattering, error) {
	const least = 5 // reflection needs as many pixels on a side as it adds
	if min(shape.Rows, shape.Cols) < least || max(shape.Rows, shape.Cols) > maxScatteringSide {
		return nil, fmt.Errorf("features: scattering of images of %dx%d, sides must be from %d to %d",
			shape.Rows, shape.Cols, least, maxScatteringSide)
	}
	return &Scattering{shape: shape, plan: sync.OnceValue(func() *scatteringPlan { return newScatteringPlan(shape) })}, nil
}

func (s *Scattering) Name() string { return "scattering(J=2,L=8)" }

// Positions returns the number of values in a channel.
func (s *Scattering) Positions() int {
	_, rows := pointsOf(s.shape.Rows)
	_, cols := pointsOf(s.shape.Cols)
	return rows * cols
}

func (s *Scattering) Dim(shape dataset.Shape) int {
	if shape != s.shape {
		return 0
	}
	return Channels * s.Positions()
}

func (s *Scattering) Extract(dst, img []float32, shape dataset.Shape) {
	extractOne(s, dst, img, shape)
}

// ExtractBatch implements [batcher]. Every image lies in a place of its own and goes through the same
// operations in any company, so its features are the same to the last bit in any batch.
func (s *Scattering) ExtractBatch(dst, x blas32.General, shape dataset.Shape) {
	checkBatch(s, dst, x, shape)
	m, _ := s.pool.Get().(*scatteringMemory)
	if m == nil {
		m = newScatteringMemory(s.plan())
	}
	defer s.pool.Put(m)
	for from := 0; from < x.Rows; from += together {
		to := min(from+together, x.Rows)
		s.plan().run(m, dense.Rows(dst, from, to), dense.Rows(x, from, to))
	}
}
