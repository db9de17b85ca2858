package kernel

// The functions here compute in double precision what is made of a row of float32.

// Affine sets dst to (src - shift) times factor, with one rounding of each operation and one to
// float32. Both have one length and may be the same.
func Affine(dst, src []float32, shift, factor float64) {
	affine(pathOf[float32](), dst, src, shift, factor)
}

func affine(on path, dst, src []float32, shift, factor float64) {
	checkLengths(len(dst), src)
	done := whole(on, len(dst), 8)
	if done > 0 {
		affine32(&dst[0], &src[0], done, shift, factor)
	}
	for i := done; i < len(dst); i++ {
		dst[i] = float32((float64(src[i]) - shift) * factor)
	}
}

// Sum returns the sum of x, and SquaresAbout that of squared distances from a centre. They add in
// the lanes of [SquaredNorm].
func Sum(x []float32) float64 { return sum(pathOf[float32](), x) }

func sum(on path, x []float32) float64 {
	var s [normLanes]float64
	if done := whole(on, len(x), normLanes); done > 0 {
		sum32(&s[0], &x[0], done)
		x = x[done:]
	}
	for i, v := range x {
		s[i%normLanes] += float64(v)
	}
	return sumOf(&s)
}

// SquaresAbout returns the sum of squared distances from a centre: see [Sum].
func SquaresAbout(x []float32, centre float64) float64 {
	return squaresAbout(pathOf[float32](), x, centre)
}

func squaresAbout(on path, x []float32, centre float64) float64 {
	var s [normLanes]float64
	if done := whole(on, len(x), normLanes); done > 0 {
		squaresAbout32(&s[0], &x[0], done, centre)
		x = x[done:]
	}
	for i, v := range x {
		d := float64(v) - centre
		s[i%normLanes] += float64(d * d)
	}
	return sumOf(&s)
}
