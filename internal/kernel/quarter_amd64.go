//go:build amd64 && !noasm

package kernel

// stripRows is the greatest number of rows of a strip that AVX-512 computes together.
const stripRows = 6

func fmaQuarterStrips(on path, q Quarters, dst []float32, sum, difference Strips, src []float32, even, odd Strips, strips int) {
	if on == avx512 {
		quarterStrips512(&dst[sum.At], &dst[difference.At], &dst[sum.At+q.Last*sum.Row], &dst[difference.At+q.Last*difference.Row],
			4*sum.Row, 4*difference.Row, 4*sum.Step, &q.Even[0], first(q.Odd), q.M, evenly(q.M, stripRows), q.KE, q.KO,
			&src[even.At], 4*(odd.At-even.At), 4*even.Row, 4*even.Step, strips)
		return
	}
	quarterStrips32(&dst[sum.At], &dst[difference.At], &dst[sum.At+q.Last*sum.Row], &dst[difference.At+q.Last*difference.Row],
		4*sum.Row, 4*difference.Row, 4*sum.Step, &q.Even[0], first(q.Odd), q.M, q.KE, q.KO,
		&src[even.At], 4*(odd.At-even.At), 4*even.Row, 4*even.Step, strips)
}

func fmaQuarterModuli(on path, q Quarters, dst []float32, sum, difference Strips, src []float32, even, odd Strips, strips int) {
	if on == avx512 {
		quarterModuli512(&dst[sum.At], &dst[difference.At], &dst[sum.At+q.Last*sum.Row], &dst[difference.At+q.Last*difference.Row],
			4*sum.Row, 4*difference.Row, 4*sum.Step, &q.Even[0], first(q.Odd), q.M, evenly(q.M, stripRows), q.KE, q.KO,
			&src[even.At], 4*(odd.At-even.At), 4*even.Row, 4*even.Step, strips)
		return
	}
	quarterModuli32(&dst[sum.At], &dst[difference.At], &dst[sum.At+q.Last*sum.Row], &dst[difference.At+q.Last*difference.Row],
		4*sum.Row, 4*difference.Row, 4*sum.Step, &q.Even[0], first(q.Odd), q.M, q.KE, q.KO,
		&src[even.At], 4*(odd.At-even.At), 4*even.Row, 4*even.Step, strips)
}

func fmaHalves(on path, h Halves, dst []float32, to Strips, src []float32, from Strips, strips int) {
	if on == avx512 {
		halves512(&dst[to.At], 4*to.Row, 4*to.Step, &h.Even[0], first(h.Odd), h.M, evenly((h.M+1)/2, stripRows), h.Last/2+1,
			&src[from.At], &src[from.At+h.Last*from.Row], 4*from.Row, 4*from.Step, strips)
		return
	}
	halves32(&dst[to.At], 4*to.Row, 4*to.Step, &h.Even[0], first(h.Odd), h.M/2, h.M%2, h.Last/2+1,
		&src[from.At], &src[from.At+h.Last*from.Row], 4*from.Row, 4*from.Step, strips)
}
