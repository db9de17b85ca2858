package dense

import "github.com/pate-go/pate/internal/kernel"

// RBF computes the Gaussian kernel exp(-Gamma |x-z|²).
type RBF struct{ Gamma float32 }

// Block fills dst, x.Rows x z.Rows, with the kernel of every row of x with every row of z.
// It takes the squared norms of both. The squared distance is |x|² + |z|² - 2xz, so one
// matrix product does nearly all the work. Rounding errs by a few 1e-7 of |x|² + |z|², and
// a negative result counts as zero.
func (k RBF) Block(dst, x Matrix, normX []float32, z Matrix, normZ []float32) {
	MulBT(dst, x, z)
	for i := range dst.Rows {
		kernel.Gaussian(Row(dst, i), normX[i], normZ[:dst.Cols], k.Gamma)
	}
}
