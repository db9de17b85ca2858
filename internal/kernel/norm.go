package kernel

// SquaredNorm returns the sum of squares of x in double precision. The relative error is below 2^-53
// (len(x)/16 + 5), and no float32 overflows or underflows on the way. The result does not depend on where x
// lies in memory.
func SquaredNorm[T Float](x []T) float64 {
	var s [normLanes]float64
	if done := whole[T](len(x), normLanes); done > 0 {
		squaredNorm32(&s[0], first(x), done)
		x = x[done:]
	}
	for ; len(x) >= normLanes; x = x[normLanes:] {
		for l, v := range x[:normLanes] {
			s[l] += float64(float64(v) * float64(v))
		}
	}
	for l, v := range x {
		s[l] += float64(float64(v) * float64(v))
	}
	return sumOf(&s)
}

// SquaredNorms sets dst[i] to the squared norm of row i of a, m by n.
func SquaredNorms[T Float](dst []float64, a []T, lda, m, n int) {
	check(dst, m, 1, m)
	check(a, lda, m, n)
	for i := range m {
		dst[i] = 0
		if n > 0 {
			dst[i] = SquaredNorm(a[i*lda : i*lda+n])
		}
	}
}

// normLanes is the number of partial sums of a squared norm.
const normLanes = 16

// sumOf adds the lanes in pairs: each to the one half of those left behind it, and again.
func sumOf(s *[normLanes]float64) float64 {
	a, b, c, d := s[0]+s[8], s[1]+s[9], s[2]+s[10], s[3]+s[11]
	a, b, c, d = a+(s[4]+s[12]), b+(s[5]+s[13]), c+(s[6]+s[14]), d+(s[7]+s[15])
	return (a + c) + (b + d)
}
