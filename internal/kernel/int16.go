package kernel

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"
)

// UnpackInt16 sets dst to src times unit, with one rounding. Both have one length.
func UnpackInt16(dst []float32, src []int16, unit float32) {
	match(len(dst) == len(src))
	done := whole[float32](len(dst), 16)
	if done > 0 {
		unpack16(&dst[0], &src[0], done, unit)
	}
	for i := done; i < len(dst); i++ {
		dst[i] = float32(src[i]) * unit
	}
}

// Fetch asks memory for x, which will be unpacked soon, and does not wait for it.
func Fetch(x []int16) {
	if machine > portable && len(x) > 0 {
		fetch16(&x[0], len(x))
	}
}

// PackInt16 sets dst to src times perUnit, rounded to the nearest integer, ties to even. Products must be
// within the range of int16. Both have one length.
func PackInt16(dst []int16, src []float32, perUnit float32) {
	match(len(dst) == len(src))
	done := whole[float32](len(dst), 16)
	if done > 0 {
		pack16(&dst[0], &src[0], done, perUnit)
	}
	for i := done; i < len(dst); i++ {
		dst[i] = int16(math.RoundToEven(float64(src[i] * perUnit)))
	}
}

// Largest returns the largest absolute value of x, 0 if x is empty, and infinity or NaN if an element is
// not finite. Bits without the sign sort like absolute values.
func Largest(x []float32) float32 {
	const sign = 1 << 31
	var most uint32
	done := whole[float32](len(x), 16)
	if done > 0 {
		var lanes [8]uint32
		largest32(&lanes[0], &x[0], done)
		most = slices.Max(lanes[:])
	}
	for _, v := range x[done:] {
		most = max(most, math.Float32bits(v)&^sign)
	}
	return math.Float32frombits(most)
}

// LoadInt16 sets dst to integers that lie in src, little-endian, two bytes each.
func LoadInt16(dst []int16, src []byte) {
	match(len(src) == 2*len(dst))
	copy(bytesOf(dst), src)
	if !littleEndian() {
		for i := range dst {
			dst[i] = int16(binary.LittleEndian.Uint16(src[2*i:]))
		}
	}
}

// AppendInt16 appends integers to dst as [LoadInt16] reads them.
func AppendInt16(dst []byte, src []int16) []byte {
	from := len(dst)
	dst = append(dst, bytesOf(src)...)
	if !littleEndian() {
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[from+2*i:], uint16(v))
		}
	}
	return dst
}

// bytesOf returns the memory of integers.
func bytesOf(x []int16) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// littleEndian reports the byte order of this machine.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }
