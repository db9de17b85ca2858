package mathx

// FFTLowError is what [FFT.ForwardLow] may be wrong by, against the sum of the moduli of the
// inputs: two roots (0.75 units each), their product (sqrt 5), the product with the input (one), and a
// compensated sum (two; Higham, section 4.3) make less than 6.8.
const FFTLowError = 7 * 0x1p-53

// lowBlock is how many roots ForwardLow reads for an input; all others are products of two.
const lowBlock = 32

// ForwardLow writes the first outputs of Forward for a sequence that is x from place at on, beyond whose end
// it goes on at the beginning, and zero elsewhere, straight from the definition, which takes a multiplication
// for each output and each input that is not 0. They are ten times as accurate as a transform.
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
