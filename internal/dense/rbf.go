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

// exp32 returns eˣ for x <= 0 with a relative error below 1e-7 (a test goes over the
// domain). Below -87, and of NaN, it returns 0. It writes x = (n + r) ln 2 / 64 with
// |r| <= 1/2, in float64. So eˣ is 2^(n/64), a power of 2 times a root from a table, times a
// factor whose Taylor polynomial of degree 2 has a remainder below (ln 2/128)³/6 = 2.7e-8.
func exp32(x float32) float32 {
	if !(x > -87) {
		return 0
	}
	const (
		magic = 3 << 51 // a float64 near it is an integer: its last bits are n
		unit  = math.Ln2 / 64
	)
	t := float64(x) * (1 / unit)
	rounded := t + magic
	n := math.Float64bits(rounded)
	r := t - (rounded - magic)
	power := math.Float64frombits(roots[n%64] + n>>6<<52)
	return float32(power + power*(r*(unit+r*(unit*unit/2))))
}

// roots are the bits of 2^(i/64).
var roots = func() (bits [64]uint64) {
	for i := range bits {
		bits[i] = math.Float64bits(math.Exp2(float64(i) / 64))
	}
	return bits
}()
