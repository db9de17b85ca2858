package kernel

// Affine sets dst to (src - shift) times factor, with one rounding of each operation and one to float32.
// Both have one length and may be the same.
func Affine(dst, src []float32, shift, factor float64) {
	match(len(src) == len(dst))
	done := whole[float32](len(dst), 8)
	if done > 0 {
		affine32(&dst[0], &src[0], done, shift, factor)
	}
	for i := done; i < len(dst); i++ {
		dst[i] = float32((float64(src[i]) - shift) * factor)
	}
}

// Sum returns the sum of x in double precision, added in the lanes of [SquaredNorm].
func Sum(x []float32) float64 {
	var s [normLanes]float64
	if done := whole[float32](len(x), normLanes); done > 0 {
		sum32(&s[0], &x[0], done)
		x = x[done:]
	}
	for i, v := range x {
		s[i%normLanes] += float64(v)
	}
	return sumOf(&s)
}

// SquaresAbout returns the sum of squared distances from a centre, added as [Sum] adds.
func SquaresAbout(x []float32, centre float64) float64 {
	var s [normLanes]float64
	if done := whole[float32](len(x), normLanes); done > 0 {
		squaresAbout32(&s[0], &x[0], done, centre)
		x = x[done:]
	}
	for i, v := range x {
		d := float64(v) - centre
		s[i%normLanes] += float64(d * d)
	}
	return sumOf(&s)
}
