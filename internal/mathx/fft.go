package mathx

import (
	"fmt"
	"sync"
)

// FFT transforms real sequences of length N = 4 2^a 3^b 5^c. Concurrent use is not safe.
//
// A sequence x is stored as N/2 complex numbers x_{2j} + i x_{2j+1} and one unused element. The transform has
// N/2+1 frequencies.
type FFT struct {
	n       int
	roots   []complex128 // e^{-2 pi i k/N}, k < N/2
	factors []int        // of N/2
	work    []complex128 // N/2
}

// FFTError bounds the error of each output of a forward or inverse transform, divided by the sum of the input
// moduli.
func FFTError(n int) float64 {
	// An output is a sum over a tree of butterflies (Higham, Accuracy and Stability of Numerical Algorithms,
	// 2nd ed., section 24.1). So the relative error that belongs to an input is the sum of the errors on its
	// path through the tree (see [fftUnits]). Each input has two paths, through the frequencies k and N/2-k
	// of the shorter transform. With the root w, the weights of these paths have moduli |1+iw|/2 and
	// |1-iw|/2, together at most sqrt 2.
	return 1.42 * 0x1p-53 * fftUnits(n)
}

// FFTNormError bounds the relative error of one transform in the Euclidean norm.
func FFTNormError(n int) float64 {
	// Let each of the r outputs of a butterfly have an error of at most e times the sum of the moduli of the
	// butterfly's inputs. Then the norm of the errors is at most r e times the norm of the inputs. The
	// butterfly itself scales the norm by sqrt r. So a unit of [fftUnits] counts at most sqrt r <= sqrt 5
	// times. The two paths of an input preserve the norm.
	return 9.0 / 4 * 0x1p-53 * fftUnits(n)
}

// fftUnits bounds the relative rounding error of a term, in units of 2^-53. An output has one term per input.
func fftUnits(n int) float64 {
	//   - The error of a root is 0.75. A product with a root adds an error of sqrt 5 (Brent, Percival,
	//     Zimmermann 2007), in total 2.99.
	//   - Radix 2 has one addition, of error 1, and a product. Radix 4 has two additions and a product.
	//   - Radix 3 first multiplies by a rounded sine. An input contributes 0.5 to the sum of two, 0.5 to the
	//     middle, 2.23 to the product of the sine and the difference, and 1 to the sum of these. With a
	//     product this is less than 7.3.
	//   - Radix 5 has two cosines and two sines. An input contributes 2.12 to the cosines, 1.62 to the sums
	//     of the middle, 1.68 to the sines and 0.59 to their sum (or less with the two pairs exchanged), and
	//     1 to the sum of all. With a product this is less than 10.
	//   - The last stage has no product, so its error is 2.9 less.
	//   - The split of the real sequence has two additions and a product. Its inverse also has a rounded
	//     factor. The sum is less than 7.
	//
	// These numbers are rounded up, which covers the far smaller second-order errors.
	units := 7 - 2.9
	for _, r := range factorise(n / 2) {
		units += map[int]float64{2: 4, 3: 7.3, 4: 5, 5: 10}[r]
	}
	return units
}

// FFTLength returns the smallest fast length that is at least max(n, 4). Fast lengths are 2^a m with a >=
// 2 and m = 1, 3, 5, 9, 15, 25, 27, 45, 75 or 81.
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

func factorise(h int) []int {
	var factors []int
	for _, r := range []int{4, 2, 3, 5} { // the last stage has no products; rarer radices have more
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

func (f *FFT) Len() int { return f.n }

func root(roots []complex128, k int) complex128 {
	if k < len(roots) {
		return roots[k]
	}
	return -roots[k-len(roots)]
}

// Forward replaces the sequence x in c by X_k = sum_j x_j e^{-2 pi i jk/N}, k = 0..N/2. The slice c has N/2+1
// elements (see [FFT]). Forward ignores the initial value of the last element.
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
	c[h/2] = complex(real(z[h/2]), -imag(z[h/2])) // the root is -i
}

// Inverse inverts Forward in place, and leaves the last element of c undefined.
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

func (f *FFT) transform(x, y []complex128) []complex128 {
	s, step := 1, 2 // stride of this stage; roots[step*p] = e^{-2 pi i p/n}, n the remaining length
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

var idle sync.Map // of *sync.Pool of *FFT, by length

// BorrowFFT returns a new FFT of length n, or one that [FFT.Return] released.
func BorrowFFT(n int) *FFT {
	if pool, ok := idle.Load(n); ok {
		if f, ok := pool.(*sync.Pool).Get().(*FFT); ok {
			return f
		}
	}
	return NewFFT(n)
}

// Return allows BorrowFFT to reuse f. The caller must not use f any more.
func (f *FFT) Return() {
	pool, ok := idle.Load(f.n)
	if !ok {
		pool, _ = idle.LoadOrStore(f.n, new(sync.Pool))
	}
	pool.(*sync.Pool).Put(f)
}

// The errors in units of 2^-53 are: 0.75 for each of two roots, sqrt 5 for the product of the roots, 1 for
// the product with the input, and 2 for a compensated sum (Higham, section 4.3). Together they are less than
// 6.8.

// FFTLowError bounds the error of [FFT.ForwardLow], relative to the sum of the moduli of the inputs.
const FFTLowError = 7 * 0x1p-53

const lowBlock = 32

// ForwardLow sets dst to the first outputs of Forward, computed from the defining sum. Element (at+i) mod N
// of the input sequence is x[i]. All other elements are zero. The time is proportional to the number of
// outputs times the number of nonzero inputs. [FFTLowError] bounds the error.
func (f *FFT) ForwardLow(dst []complex128, x []float64, at int) {
	clear(dst)
	lost := make([]complex128, len(dst))
	var near [lowBlock]complex128
	for i, x := range x {
		if x == 0 {
			continue
		}
		j := (at + i) % f.n
		turn := 0 // index of a root: multiples of j, mod n
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
