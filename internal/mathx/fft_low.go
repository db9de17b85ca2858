package mathx

// FFTLowError is what [FFT.ForwardLow] may be wrong by, against the sum of the moduli of the
// inputs: two roots (below two units each), their product (sqrt 5), the product with the
// input (one), and a compensated sum (two; Higham, section 4.3) make less than ten.
const FFTLowError = 12 * 0x1p-53

// lowBlock is how many roots ForwardLow reads for an input; all others are products of two.
const lowBlock = 32

// ForwardLow writes the first outputs of Forward, straight from the definition, which takes a
// multiplication for each of them and each input that is not 0. They are ten times as
// accurate as a transform.
func (f *FFT) ForwardLow(dst []complex128, x []float64) {
	clear(dst)
	lost := make([]complex128, len(dst))
	var near [lowBlock]complex128
	for j, x := range x {
		if x == 0 {
			continue
		}
		at := 0
		for k := range near {
			near[k] = f.roots[at]
			if at += j; at >= f.n {
				at -= f.n
			}
		}
		step, turn := at, 0 // lowBlock j, and its multiples, mod n
		for first := 0; first < len(dst); first += lowBlock {
			far := f.roots[turn]
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
