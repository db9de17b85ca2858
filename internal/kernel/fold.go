package kernel

import "math"

// FoldInt64 adds src times perUnit, rounded to the nearest integer, ties to even, to dst, clears src and
// returns its squared norm before that, as [SquaredNorm] computes it. Products must be below 2^51 in
// magnitude: the sums are meaningless otherwise, and the norm shows it. The factor must have at most 24
// significant bits, so that its products with float32 values are exact doubles, rounded once.
func FoldInt64(dst []int64, src []float32, perUnit float64) float64 {
	match(len(dst) == len(src))
	var s [normLanes]float64
	if done := whole[float32](len(src), normLanes); done > 0 {
		foldInt64(&dst[0], &src[0], done, perUnit, &s[0])
		dst, src = dst[done:], src[done:]
	}
	// A double of magnitude below 2^51 plus 1.5 2^52 has its nearest integer in the low bits.
	const magic = 0x1.8p52
	offset := int64(math.Float64bits(magic))
	for j, v := range src {
		s[j%normLanes] += float64(float64(v) * float64(v))
		dst[j] += int64(math.Float64bits(float64(float64(v)*perUnit)+magic)) - offset
		src[j] = 0
	}
	return sumOf(&s)
}

// FoldFloat64 adds src to dst, and clears src. Both have one length.
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

// AddFloat64 adds src to dst. Both have one length.
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
