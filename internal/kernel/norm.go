package kernel

import "math"

// SquaredNorm returns the sum of the squares of x in float64. The relative error is below 2^-53
// (len(x)/16 + 5). For float32 values there is no overflow or underflow. The result does not depend on
// the address of x.
func SquaredNorm[T Float](x []T) float64 {
	var s [normLanes]float64
	if done := whole[T](len(x), normLanes); done > 0 {
		squaredNorm32(&s[0], first(x), done)
		x = x[done:]
	}
	for i, v := range x {
		s[i%normLanes] += float64(float64(v) * float64(v))
	}
	return sumOf(&s)
}

// SquaredNorms sets dst[i] to the squared norm of row i of the m x n matrix a.
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

const normLanes = 16

func sumOf(s *[normLanes]float64) float64 {
	a, b, c, d := s[0]+s[8], s[1]+s[9], s[2]+s[10], s[3]+s[11]
	a, b, c, d = a+(s[4]+s[12]), b+(s[5]+s[13]), c+(s[6]+s[14]), d+(s[7]+s[15])
	return (a + c) + (b + d)
}

// Affine sets dst to (src - shift)·factor. Each operation rounds to float64, and then the result to float32.
// The slices dst and src have equal length and may coincide.
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

// Sum returns the sum of x in float64. The order of the additions is the same as in [SquaredNorm].
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

// SquaresAbout returns the sum of (v - centre)² over all v in x. It adds in the order of [Sum].
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

// FoldInt64 adds src·perUnit, rounded to integers (ties to even), to dst. It clears src and returns the
// previous [SquaredNorm] of src. If a product is NaN or at least 2^51 in magnitude, dst becomes
// meaningless. In this case the returned value is NaN or at least (2^51/perUnit)². The caller must check
// the returned value. The factor perUnit must have at most 24 significant bits. Then the products of
// perUnit and float32 values are exact in float64.
func FoldInt64(dst []int64, src []float32, perUnit float64) float64 {
	match(len(dst) == len(src))
	var s [normLanes]float64
	if done := whole[float32](len(src), normLanes); done > 0 {
		foldInt64(&dst[0], &src[0], done, perUnit, &s[0])
		dst, src = dst[done:], src[done:]
	}
	// The low bits of v + 1.5 * 2^52 are the nearest integer of v, for |v| below 2^51.
	const magic = 0x1.8p52
	offset := int64(math.Float64bits(magic))
	for j, v := range src {
		s[j%normLanes] += float64(float64(v) * float64(v))
		dst[j] += int64(math.Float64bits(float64(float64(v)*perUnit)+magic)) - offset
		src[j] = 0
	}
	return sumOf(&s)
}

// FoldFloat64 adds src to dst and clears src. Both slices have equal length.
func FoldFloat64(dst []float64, src []float32) {
	match(len(dst) == len(src))
	done := whole[float32](len(dst), 8)
	if done > 0 {
		foldFloats32(&dst[0], &src[0], done)
	}
	for j, v := range src[done:] {
		dst[done+j] += float64(v)
	}
	clear(src[done:])
}

// AddFloat64 adds src to dst. Both slices have equal length.
func AddFloat64(dst, src []float64) {
	match(len(dst) == len(src))
	done := whole[float32](len(dst), 8)
	if done > 0 {
		addFloats64(&dst[0], &src[0], done)
	}
	for j, v := range src[done:] {
		dst[done+j] += v
	}
}
