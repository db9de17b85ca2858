package dense

import "math"

// RBF computes the Gaussian kernel exp(-Gamma |x-z|²).
type RBF struct{ Gamma float32 }

// Block fills dst, x.Rows x z.Rows, with the kernel of every row of x with every row of z.
// It takes the squared norms of both. The squared distance is |x|² + |z|² - 2xz, so one
// matrix product does nearly all the work. Rounding errs by a few 1e-7 of |x|² + |z|², and
// a negative result counts as zero.
func (k RBF) Block(dst, x Matrix, normX []float32, z Matrix, normZ []float32) {
	MulBT(dst, x, z)
	for i := range dst.Rows {
		out, a := Row(dst, i), normX[i]
		for j, dot := range out {
			out[j] = exp32(-k.Gamma * max(0, a+normZ[j]-2*dot))
		}
	}
}

// exp32 returns eˣ for x <= 0 with a relative error below 1e-6 (a test goes over the
// domain). Below -87 it returns 0. It writes x = n ln 2 + r with |r| <= ln 2 / 2, and takes
// eʳ as its Taylor polynomial of degree 6, whose remainder is below |r|⁷/7! = 1.2e-7.
func exp32(x float32) float32 {
	if !(x > -87) {
		return 0
	}
	const (
		log2E   = 1.4426950408889634
		ln2High = 0.693359375 // 9 bits, so n·ln2High is exact
		ln2Low  = -2.12194440054690583e-4
	)
	n := int32(x*log2E - 0.5) // rounds to nearest for x <= 0
	nf := float32(n)
	r := x - nf*ln2High - nf*ln2Low
	p := float32(1.0 / 720)
	p = p*r + 1.0/120
	p = p*r + 1.0/24
	p = p*r + 1.0/6
	p = p*r + 0.5
	p = p*r + 1
	p = p*r + 1
	return p * math.Float32frombits(uint32(n+127)<<23)
}
