//go:build amd64 && !noasm

package kernel

func fmaQuarterStrips(q Quarters, dst []float32, sum, difference Strips, src []float32, even, odd Strips, strips int) {
	quarterStrips32(&dst[sum.At], &dst[difference.At], &dst[sum.At+q.Last*sum.Row], &dst[difference.At+q.Last*difference.Row],
		4*sum.Row, 4*difference.Row, 4*sum.Step, &q.Even[0], first(q.Odd), q.M, q.KE, q.KO,
		&src[even.At], 4*(odd.At-even.At), 4*even.Row, 4*even.Step, strips)
}

func fmaQuarterModuli(q Quarters, dst []float32, sum, difference Strips, src []float32, even, odd Strips, strips int) {
	quarterModuli32(&dst[sum.At], &dst[difference.At], &dst[sum.At+q.Last*sum.Row], &dst[difference.At+q.Last*difference.Row],
		4*sum.Row, 4*difference.Row, 4*sum.Step, &q.Even[0], first(q.Odd), q.M, q.KE, q.KO,
		&src[even.At], 4*(odd.At-even.At), 4*even.Row, 4*even.Step, strips)
}

func fmaHalves(h Halves, dst []float32, to Strips, src []float32, from Strips, strips int) {
	halves32(&dst[to.At], 4*to.Row, 4*to.Step, &h.Even[0], first(h.Odd), h.M/2, h.M%2, h.Last/2+1,
		&src[from.At], &src[from.At+h.Last*from.Row], 4*from.Row, 4*from.Step, strips)
}
