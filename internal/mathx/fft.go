package mathx

import (
	"fmt"
	"math"
)

// FFT transforms real sequences of one even length N = 2^a 3^b 5^c. It is not safe for
// concurrent use.
//
// Every stage multiplies by correctly rounded roots of unity. So each output of either
// transform is within FFTError(N) times the sum of the moduli of the inputs of its exact
// value. The reason is that each output is a sum over a tree of log N butterflies, each
// with a relative error of a few units (Higham, Accuracy and Stability of Numerical
// Algorithms, 2nd ed., section 24.1).
type FFT struct {
	n       int
	roots   []complex128 // e^{-2 pi i k/N}, k < N
	factors []int        // of N/2
	a, b    []complex128 // work space, N/2 each
}

// FFTError returns the relative error, against the sum of moduli, of one transform. A
// radix-4 butterfly counts as two levels. It has two complex additions (one unit of
// rounding each), a product (sqrt 5 units; Brent, Percival, Zimmermann 2007) and the error
// of the root (below two): less than 4 units a level. Radix 2 and 3 do as well. Radix 5
// takes five additions and products at once. The split of the real sequence counts as four
// levels.
func FFTError(n int) float64 {
	return 4 * 0x1p-53 * (math.Log2(float64(n)) + 6)
}

// FFTNormError returns the relative error of one transform in the root of the sum of squares.
// Where each of the r outputs of a butterfly is wrong by at most e times the sum of the
// moduli of its inputs, all together are by at most r e times the root of their squares; the
// butterfly itself makes that sqrt r times as large. So 4 units a level become 4 sqrt r, for
// radix 4 with two levels and for radix 5 alike at most 9.
func FFTNormError(n int) float64 { return 9.0 / 4 * FFTError(n) }

// NewFFT prepares transforms of length n.
func NewFFT(n int) *FFT {
	f := &FFT{n: n}
	h := n / 2
	if n < 2 || n%2 != 0 {
		panic(fmt.Sprintf("mathx: FFT length %d is not even", n))
	}
	for _, r := range []int{5, 3, 4, 2} { // radix 4 late, where the inner loops are long
		for h%r == 0 && h > 1 {
			f.factors = append(f.factors, r)
			h /= r
		}
	}
	if h != 1 {
		panic(fmt.Sprintf("mathx: FFT length %d has a prime factor above 5", n))
	}
	f.roots = unitRoots(n)
	f.a, f.b = make([]complex128, n/2), make([]complex128, n/2)
	return f
}

// Len returns the length of the sequences.
func (f *FFT) Len() int { return f.n }

// unitRoots returns e^{-2 pi i k/n}, k < n, from one octant of sines.
func unitRoots(n int) []complex128 {
	w := make([]complex128, n)
	at := func(k int) complex128 { // 8k <= n
		s, c := math.Sincos(2 * math.Pi * float64(k) / float64(n))
		return complex(c, -s)
	}
	quarter := n / 4
	for k := 0; 8*k <= n; k++ {
		w[k] = at(k)
	}
	for k := n/8 + 1; k <= quarter; k++ {
		// Reflect at 45 degrees. That needs n/4 - k, which is whole if 4 divides n.
		if n%4 == 0 {
			r := w[quarter-k]
			w[k] = complex(-imag(r), -real(r))
		} else {
			w[k] = at(k)
		}
	}
	for k := quarter + 1; 2*k <= n; k++ {
		r := w[n/2-k]
		w[k] = complex(-real(r), imag(r))
	}
	for k := n/2 + 1; k < n; k++ {
		r := w[n-k]
		w[k] = complex(real(r), -imag(r))
	}
	return w
}

// Forward writes X_k = sum_j x_j e^{-2 pi i jk/N}, k = 0..N/2, to dst, which
// has length N/2+1.
func (f *FFT) Forward(dst []complex128, x []float64) {
	h := f.n / 2
	for j := range h {
		f.a[j] = complex(x[2*j], x[2*j+1])
	}
	z := f.transform()
	for k := 0; k <= h; k++ {
		u, v := z[k%h], z[(h-k)%h]
		even := complex((real(u)+real(v))/2, (imag(u)-imag(v))/2)
		odd := complex((imag(u)+imag(v))/2, (real(v)-real(u))/2)
		dst[k] = even + f.roots[k%f.n]*odd
	}
}

// Inverse writes to x the real sequence whose Forward transform is c. The slice c has
// length N/2+1.
func (f *FFT) Inverse(x []float64, c []complex128) {
	h := f.n / 2
	scale := 1 / float64(f.n)
	for k := range h {
		u, v := c[k], c[h-k]
		v = complex(real(v), -imag(v))
		w := f.roots[k]
		z := (u + v) + complex(0, 1)*complex(real(w), -imag(w))*(u-v)
		f.a[k] = complex(real(z)*scale, -imag(z)*scale) // conjugated: an inverse by a forward transform
	}
	z := f.transform()
	for j := range h {
		x[2*j], x[2*j+1] = real(z[j]), -imag(z[j])
	}
}

// transform runs the stages on f.a, a self-sorting (Stockham) decimation in frequency. It
// returns the slice that holds the result.
func (f *FFT) transform() []complex128 {
	x, y := f.a, f.b
	n, s, step := f.n/2, 1, 2 // length and stride of this stage; roots[step*p] = e^{-2 pi i p/n}
	for _, r := range f.factors {
		switch r {
		case 4:
			stage4(y, x, f.roots, n, s, step)
		case 3:
			stage3(y, x, f.roots, n, s, step)
		case 2:
			stage2(y, x, f.roots, n, s, step)
		default:
			stage5(y, x, f.roots, n, s, step, f.n)
		}
		n, s, step = n/r, s*r, step*r
		x, y = y, x
	}
	return x
}

func stage4(y, x, roots []complex128, n, s, step int) {
	m := n / 4
	for p := range m {
		w1 := roots[step*p]
		w2, w3 := roots[2*step*p], roots[3*step*p]
		r1, i1, r2, i2, r3, i3 := real(w1), imag(w1), real(w2), imag(w2), real(w3), imag(w3)
		x0, x1 := x[s*p:s*p+s], x[s*(p+m):s*(p+m)+s]
		x2, x3 := x[s*(p+2*m):s*(p+2*m)+s], x[s*(p+3*m):s*(p+3*m)+s]
		out := y[4*s*p : 4*s*p+4*s]
		y0, y1, y2, y3 := out[:s], out[s:2*s], out[2*s:3*s], out[3*s:4*s]
		for q := range x0 {
			a, b, c, d := x0[q], x1[q], x2[q], x3[q]
			apcR, apcI, amcR, amcI := real(a)+real(c), imag(a)+imag(c), real(a)-real(c), imag(a)-imag(c)
			bpdR, bpdI := real(b)+real(d), imag(b)+imag(d)
			jR, jI := imag(b)-imag(d), real(d)-real(b) // -i (b-d)
			y0[q] = complex(apcR+bpdR, apcI+bpdI)
			tR, tI := amcR+jR, amcI+jI
			y1[q] = complex(tR*r1-tI*i1, tR*i1+tI*r1)
			tR, tI = apcR-bpdR, apcI-bpdI
			y2[q] = complex(tR*r2-tI*i2, tR*i2+tI*r2)
			tR, tI = amcR-jR, amcI-jI
			y3[q] = complex(tR*r3-tI*i3, tR*i3+tI*r3)
		}
	}
}

func stage2(y, x, roots []complex128, n, s, step int) {
	m := n / 2
	for p := range m {
		w := roots[step*p]
		for q := range s {
			a, b := x[q+s*p], x[q+s*(p+m)]
			y[q+s*2*p] = a + b
			y[q+s*(2*p+1)] = (a - b) * w
		}
	}
}

func stage3(y, x, roots []complex128, n, s, step int) {
	const sin60 = 0.8660254037844386
	m := n / 3
	for p := range m {
		w1, w2 := roots[step*p], roots[2*step*p]
		x0, x1, x2 := x[s*p:s*p+s], x[s*(p+m):s*(p+m)+s], x[s*(p+2*m):s*(p+2*m)+s]
		out := y[3*s*p : 3*s*p+3*s]
		y0, y1, y2 := out[:s], out[s:2*s], out[2*s:3*s]
		for q := range x0 {
			a, b, c := x0[q], x1[q], x2[q]
			sum, diff := b+c, b-c
			mid := a - complex(real(sum)/2, imag(sum)/2)
			turn := complex(sin60*imag(diff), -sin60*real(diff)) // -i sin60 (b-c)
			y0[q] = a + sum
			y1[q] = (mid + turn) * w1
			y2[q] = (mid - turn) * w2
		}
	}
}

// stage5 computes a radix-5 stage straight from the definition.
func stage5(y, x, roots []complex128, n, s, step, full int) {
	m := n / 5
	var w [5]complex128
	for k := range w {
		w[k] = roots[full/5*k]
	}
	for p := range m {
		for q := range s {
			for k := range 5 {
				sum := x[q+s*p]
				for j := 1; j < 5; j++ {
					sum += x[q+s*(p+j*m)] * w[j*k%5]
				}
				y[q+s*(5*p+k)] = sum * roots[step*p*k]
			}
		}
	}
}
