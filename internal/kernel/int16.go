package kernel

import "math"

// UnpackInt16 sets dst to src times unit, with one rounding. Both have one length.
func UnpackInt16(dst []float32, src []int16, unit float32) {
	unpackInt16(pathOf[float32](), dst, src, unit)
}

func unpackInt16(on path, dst []float32, src []int16, unit float32) {
	if len(dst) != len(src) {
		panic("kernel: dimension mismatch")
	}
	done := 0
	if on > portable {
		done = fmaUnpackInt16(dst, src, unit)
	}
	for i := done; i < len(dst); i++ {
		dst[i] = float32(src[i]) * unit
	}
}

// Fetch asks memory for x, which will be unpacked soon, and does not wait for it.
func Fetch(x []int16) {
	if machine > portable && len(x) > 0 {
		fmaFetch(x)
	}
}

// PackInt16 sets dst to src times perUnit, rounded to the nearest integer, to the even one of two.
// Products, which are rounded themselves, must be within the integers. Both have one length.
func PackInt16(dst []int16, src []float32, perUnit float32) {
	packInt16(pathOf[float32](), dst, src, perUnit)
}

func packInt16(on path, dst []int16, src []float32, perUnit float32) {
	if len(dst) != len(src) {
		panic("kernel: dimension mismatch")
	}
	done := 0
	if on > portable {
		done = fmaPackInt16(dst, src, perUnit)
	}
	for i := done; i < len(dst); i++ {
		dst[i] = int16(math.RoundToEven(float64(src[i] * perUnit)))
	}
}

// Largest returns the largest absolute value of x, 0 of none. If not all are finite it is
// infinite or NaN. Bits without the sign sort like absolute values, and what is not finite is
// above all others.
func Largest(x []float32) float32 { return largest(pathOf[float32](), x) }

func largest(on path, x []float32) float32 {
	const sign = 1 << 31
	most, done := uint32(0), 0
	if on > portable {
		most, done = fmaLargest(x)
	}
	for _, v := range x[done:] {
		most = max(most, math.Float32bits(v)&^sign)
	}
	return math.Float32frombits(most)
}
