package mathx

import (
	"fmt"
	"sync"
)

// FFT transforms real sequences of one length N = 4 2^a 3^b 5^c. It is not safe for concurrent use.
//
// A sequence is stored as N/2 complex numbers, x_2j + i x_2j+1, and so is transformed by a complex transform
// of half the length. One more number makes room for N/2+1 frequencies.
type FFT struct {
	n       int
	roots   []complex128 // e^{-2 pi i k/N}, k < N/2
	factors []int        // of N/2
	work    []complex128 // N/2
}

// FFTError returns the error of each output of one transform, in either direction, relative to the sum of the
// moduli of the inputs. An output is a sum over a tree of butterflies (Higham, Accuracy and Stability of
// Numerical Algorithms, 2nd ed., section 24.1), so every input contributes with a relative error that is the
// sum of the errors on its way, in [fftUnits]. Then an input reaches an output by two ways, from two
// frequencies k and N/2-k of the shorter transform or to both of them, with weights of modulus |1+iw|/2 and
// |1-iw|/2, w the root, together at most sqrt 2.
func FFTError(n int) float64 { return 1.42 * 0x1p-53 * fftUnits(n) }

// FFTNormError returns the relative error of one transform in the root of the sum of squares. If each of the
// r outputs of a butterfly is wrong by at most e times the sum of the moduli of its inputs, all outputs
// together are wrong by at most r e times the root of the sum of the inputs' squares; the butterfly itself
// scales that root by sqrt r. So a unit counts at most sqrt 5 times. The two ways of an input keep its
// square.
func FFTNormError(n int) float64 { return 9.0 / 4 * 0x1p-53 * fftUnits(n) }

// fftUnits returns the relative error on one way through a transform, in units of 2^-53:
//
//   - The error of a root is 0.75. The error of a product with a root, by sqrt 5 more (Brent,
//     Percival, Zimmermann 2007), is 2.99.
//   - Radix 2 has one addition, of error 1, and a product; radix 4 has two additions and a product.
//   - Radix 3 first multiplies by a rounded sine. An input contributes to the sum of two, by
//     0.5, to the middle, by 0.5, to the turn, by 2.23, and to the sum of these, by 1: with a
//     product less than 7.3.
//   - Radix 5 has two cosines and two sines. An input contributes to the cosines by 2.12, to
//     the sums of the middle by 1.62, to the sines by 1.68 and to their sum by 0.59, or the
//     other way round by less, and to the sum of all by 1: with a product less than 10.
//   - The last stage has no product: 2.9 less.
//   - The split of the real sequence has two additions and a product, and its inverse also a
//     rounded factor: less than 7.
//
// Second-order errors are far below what the rounding up of these numbers covers.
func fftUnits(n int) float64 {
	units := 7 - 2.9
	for _, r := range factorise(n / 2) {
		units += map[int]float64{2: 4, 3: 7.3, 4: 5, 5: 10}[r]
	}
	return units
}

// FFTLength returns the least length, at least n and at least 4, whose transforms are fast: 2^a times 1, 3,
// 5, 9, 15, 25, 27, 45, 75 or 81.
func FFTLength(n int) int {
	best := 4
	for best < n {
		best *= 2
	}
	for _, odd := range []int{3, 5, 9, 15, 25, 27, 45, 75, 81} {
		l := 4 * odd
		for l < n {
			l *= 2
		}
		best = min(best, l)
	}
	return best
}

// factorise returns the radices of the stages of a complex transform of length h, in order, or nil if h has
// other factors than these radices.
func factorise(h int) []int {
	var factors []int
	for _, r := range []int{4, 2, 3, 5} { // the last stage has no products, and the rarer radices have more
		for h > 1 && h%r == 0 {
			factors = append(factors, r)
			h /= r
		}
	}
	if h != 1 {
		return nil
	}
	return factors
}

// NewFFT prepares transforms of length n.
func NewFFT(n int) *FFT {
	f := &FFT{n: n}
	if n > 0 && n%4 == 0 {
		f.factors = factorise(n / 2)
	}
	if f.factors == nil {
		panic(fmt.Sprintf("mathx: FFT length %d is not 4 times a product of 2, 3 and 5", n))
	}
	f.roots, f.work = unitRoots(n), make([]complex128, n/2)
	return f
}

// Len returns the length of the sequences.
func (f *FFT) Len() int { return f.n }

// root returns e^{-2 pi i k/N}, 0 <= k < N.
func root(roots []complex128, k int) complex128 {
	if k < len(roots) {
		return roots[k]
	}
	return -roots[k-len(roots)]
}

// Forward replaces a sequence by X_k = sum_j x_j e^{-2 pi i jk/N}, k = 0..N/2. The slice c has length N/2+1;
// its last element is ignored as input.
func (f *FFT) Forward(c []complex128) {
	h := f.n / 2
	z := f.transform(c[:h], f.work)
	c[0], c[h] = complex(real(z[0])+imag(z[0]), 0), complex(real(z[0])-imag(z[0]), 0)
	for k, l := 1, h-1; k < l; k, l = k+1, l-1 {
		u, v, w := z[k], z[l], f.roots[k]
		evenR, evenI := (real(u)+real(v))/2, (imag(u)-imag(v))/2
		oddR, oddI := (imag(u)+imag(v))/2, (real(v)-real(u))/2
		turnR, turnI := oddR*real(w)-oddI*imag(w), oddR*imag(w)+oddI*real(w)
		c[k] = complex(evenR+turnR, evenI+turnI)
		c[l] = complex(evenR-turnR, turnI-evenI)
	}
	c[h/2] = complex(real(z[h/2]), -imag(z[h/2])) // whose root is -i
}

// Inverse replaces N/2+1 frequencies by the sequence whose Forward transform they are. The last number is
// undefined afterwards.
func (f *FFT) Inverse(c []complex128) {
	h := f.n / 2
	scale := 1 / float64(f.n)
	z, other := c[:h], f.work // z[-k] instead of z[k]: an inverse by a forward transform
	if len(f.factors)%2 == 1 {
		z, other = other, z
	}
	sum, diff := real(c[0])+real(c[h]), real(c[0])-real(c[h])
	z[0] = complex(sum*scale, diff*scale)
	for k, l := 1, h-1; k < l; k, l = k+1, l-1 {
		u, v, w := c[k], c[l], f.roots[k]
		sumR, sumI, diffR, diffI := real(u)+real(v), imag(u)-imag(v), real(u)-real(v), imag(u)+imag(v)
		// i times the conjugate of the root, times the difference
		turnR, turnI := diffR*imag(w)-diffI*real(w), diffR*real(w)+diffI*imag(w)
		z[l] = complex((sumR+turnR)*scale, (sumI+turnI)*scale)
		z[k] = complex((sumR-turnR)*scale, (turnI-sumI)*scale)
	}
	z[h/2] = complex(2*real(c[h/2])*scale, -2*imag(c[h/2])*scale)
	f.transform(z, other)
}

// transform runs the stages on x, a self-sorting (Stockham) decimation in frequency, alternating between x
// and y. It returns the slice that holds the result.
func (f *FFT) transform(x, y []complex128) []complex128 {
	s, step := 1, 2 // stride of this stage; roots[step*p] = e^{-2 pi i p/n}, n the rest of the length
	for _, r := range f.factors {
		switch r {
		case 4:
			stage4(y, x, f.roots, s, step)
		case 3:
			stage3(y, x, f.roots, s, step)
		case 2:
			stage2(y, x, f.roots, s, step)
		default:
			stage5(y, x, f.roots, s, step)
		}
		s, step = s*r, step*r
		x, y = y, x
	}
	return x
}

// idle holds a pool for every length that was requested, a few hundred at most. Transforms that are not
// borrowed for a while are freed.
var idle sync.Map // of *sync.Pool of *FFT, by length

// BorrowFFT returns transforms of length n, reusing returned transforms if possible: computing their roots
// takes about as long as using them.
func BorrowFFT(n int) *FFT {
	if pool, ok := idle.Load(n); ok {
		if f, ok := pool.(*sync.Pool).Get().(*FFT); ok {
			return f
		}
	}
	return NewFFT(n)
}

// Return makes f available to BorrowFFT. The caller must not use f any more.
func (f *FFT) Return() {
	pool, ok := idle.Load(f.n)
	if !ok {
		pool, _ = idle.LoadOrStore(f.n, new(sync.Pool))
	}
	pool.(*sync.Pool).Put(f)
}

// FFTLowError bounds the error of [FFT.ForwardLow], relative to the sum of the moduli of the inputs: two
// roots (0.75 units each), their product (sqrt 5), the product with the input (one), and a compensated sum
// (two; Higham, section 4.3) make less than 6.8.
const FFTLowError = 7 * 0x1p-53

// lowBlock is the number of roots that ForwardLow reads per input; all other roots are products of two.
const lowBlock = 32

// ForwardLow writes the first outputs of Forward for a sequence that is x from place at on, wrapping around
// at the end, and zero elsewhere. It follows the definition, with a multiplication for each output and each
// nonzero input. The outputs are ten times as accurate as a transform's.
func (f *FFT) ForwardLow(dst []complex128, x []float64, at int) {
	clear(dst)
	lost := make([]complex128, len(dst))
	var near [lowBlock]complex128
	for i, x := range x {
		if x == 0 {
			continue
		}
		j := (at + i) % f.n
		turn := 0 // a root, multiples of j, mod n
		for k := range near {
			near[k] = root(f.roots, turn)
			if turn += j; turn >= f.n {
				turn -= f.n
			}
		}
		step := turn
		turn = 0
		for first := 0; first < len(dst); first += lowBlock {
			far := root(f.roots, turn)
			if turn += step; turn >= f.n {
				turn -= f.n
			}
			r, i := x*real(far), x*imag(far)
			sums := dst[first:min(first+lowBlock, len(dst))]
			losts := lost[first : first+len(sums)]
			for k := range sums {
				re, im := real(near[k]), imag(near[k])
				s, c := sums[k], losts[k]
				addR, addI := r*re-i*im-real(c), r*im+i*re-imag(c)
				sumR, sumI := real(s)+addR, imag(s)+addI
				losts[k] = complex(sumR-real(s)-addR, sumI-imag(s)-addI)
				sums[k] = complex(sumR, sumI)
			}
		}
	}
}
