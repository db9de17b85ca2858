package kernel

import (
	"encoding/binary"
	"unsafe"
)

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
