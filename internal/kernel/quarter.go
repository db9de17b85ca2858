package kernel

// Quarters is a [Mirror] whose results are mirrored once more: result r of either product is the sum of the
// products with the even and the odd coefficients of a row, and result Last - r is their difference. So M
// rows, r up to Last/2, determine all results. Cosines and sines about a quarter of their period are such
// products.
type Quarters struct {
	Mirror
	Last int
}

func (q Quarters) check() {
	match(q.M == q.Last/2+1)
}

// MulStrips is [Mirror.MulStrips] for results 0 to Last. Where results meet, Last - r is written last.
func (q Quarters) MulStrips(dst []float32, sum, difference Strips, src []float32, even, odd Strips, strips int) {
	if strips == 0 {
		return
	}
	q.check()
	q.prepare(dst, sum, difference, q.Last+1, src, even, odd, strips, strip)
	if pathOf[float32]() > portable {
		quarterStrips32(&dst[sum.At], &dst[difference.At], &dst[sum.At+q.Last*sum.Row], &dst[difference.At+q.Last*difference.Row],
			4*sum.Row, 4*difference.Row, 4*sum.Step, &q.Even[0], first(q.Odd), q.M, q.KE, q.KO,
			&src[even.At], 4*(odd.At-even.At), 4*even.Row, 4*even.Step, strips)
		return
	}
	q.each(src, even, odd, strips, func(s, r int, e, o *[strip]float32) {
		setStrips(sum.row(dst, r, s), difference.row(dst, r, s), e, o)
	})
}

// Moduli is MulStrips of complex numbers, real parts in the first eight columns of a strip and imaginary
// parts in the others. Eight columns of sum become the sums of the moduli, and eight of difference their
// differences.
func (q Quarters) Moduli(dst []float32, sum, difference Strips, src []float32, even, odd Strips, strips int) {
	if strips == 0 {
		return
	}
	q.check()
	q.prepare(dst, sum, difference, q.Last+1, src, even, odd, strips, strip/2)
	if pathOf[float32]() > portable {
		quarterModuli32(&dst[sum.At], &dst[difference.At], &dst[sum.At+q.Last*sum.Row], &dst[difference.At+q.Last*difference.Row],
			4*sum.Row, 4*difference.Row, 4*sum.Step, &q.Even[0], first(q.Odd), q.M, q.KE, q.KO,
			&src[even.At], 4*(odd.At-even.At), 4*even.Row, 4*even.Step, strips)
		return
	}
	q.each(src, even, odd, strips, func(s, r int, e, o *[strip]float32) {
		setModuli(sum.row(dst, r, s), difference.row(dst, r, s), e, o)
	})
}

// each calls f with both products of strip s, rows r and Last - r.
func (q Quarters) each(src []float32, even, odd Strips, strips int, f func(s, r int, e, o *[strip]float32)) {
	for s := range strips {
		for r := range q.M {
			var here, there [2][strip]float32
			for i, at := range []Strips{even, odd} {
				row := q.Even[r*q.KE : (r+1)*q.KE]
				if i == 1 {
					row = q.Odd[r*q.KO : (r+1)*q.KO]
				}
				var first, second [strip]float32
				addRow(&first, row, 0, 2, src, at, s)
				addRow(&second, row, 1, 2, src, at, s)
				setStrips(here[i][:], there[i][:], &first, &second)
			}
			f(s, r, &here[0], &here[1])
			f(s, q.Last-r, &there[0], &there[1])
		}
	}
}
