package nn

import (
	"math"
	"unsafe"
)

// This file compares floating-point numbers by their bits. A comparison of numbers takes a
// branch, and random values make the processor guess it wrong half of the time. A
// comparison of bits does not.

// order maps v to an integer that sorts like v, with -0 below +0.
func order[T Float](v T) int64 {
	if unsafe.Sizeof(v) == 4 {
		b := int32(math.Float32bits(float32(v)))
		return int64(b ^ int32(uint32(b>>31)>>1))
	}
	b := int64(math.Float64bits(float64(v)))
	return b ^ int64(uint64(b>>63)>>1)
}

// ofOrder inverts order.
func ofOrder[T Float](o int64) T {
	var v T
	if unsafe.Sizeof(v) == 4 {
		b := int32(o)
		return T(math.Float32frombits(uint32(b ^ int32(uint32(b>>31)>>1))))
	}
	return T(math.Float64frombits(uint64(o ^ int64(uint64(o>>63)>>1))))
}

// where returns d if v is positive or NaN, and 0 otherwise. The value v must not be
// negative and not -0.
func where[T Float](v, d T) T {
	if unsafe.Sizeof(v) == 4 {
		mask := -int32(math.Float32bits(float32(v))) >> 31 // of a positive number: all ones
		return T(math.Float32frombits(math.Float32bits(float32(d)) & uint32(mask)))
	}
	mask := -int64(math.Float64bits(float64(v))) >> 63
	return T(math.Float64frombits(math.Float64bits(float64(d)) & uint64(mask)))
}
