package kernel

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"
)

// UnpackInt16 sets dst to src times unit, with one rounding. Both have one length.
func UnpackInt16(dst []float32, src []int16, unit float32) {
	unpackInt16(pathOf[float32](), dst, src, unit)
}

func unpackInt16(on path, dst []float32, src []int16, unit float32) {
	if len(dst) != len(src) {
		panic("kernel: dimension mismatch")
	}
	done := whole(on, len(dst), 16)
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

// PackInt16 sets dst to src times perUnit, rounded to the nearest integer, to the even one of two.
// Products, which are rounded themselves, must be within the integers. Both have one length.
func PackInt16(dst []int16, src []float32, perUnit float32) {
	packInt16(pathOf[float32](), dst, src, perUnit)
}

func packInt16(on path, dst []int16, src []float32, perUnit float32) {
	if len(dst) != len(src) {
		panic("kernel: dimension mismatch")
	}
	done := whole(on, len(dst), 16)
	if done > 0 {
		pack16(&dst[0], &src[0], done, perUnit)
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
	var most uint32
	done := whole(on, len(x), 16)
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
	if len(src) != 2*len(dst) {
		panic("kernel: dimension mismatch")
	}
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

// littleEndian says whether the memory of this machine is.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }
