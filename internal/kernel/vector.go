package kernel

import "unsafe"

// alignment is the boundary of slices in bytes: a cache line, and a multiple of every vector register in use.
const alignment = 64

// Make returns n zeros on a boundary of 64 bytes. Slices that fill large pages start on one and ask the
// system for them, so that a pass over all parameters looks up few addresses.
func Make[T float32 | float64 | int64](n int) []T {
	if n == 0 {
		return nil
	}
	size := int(unsafe.Sizeof(T(0)))
	boundary := alignment
	if n*size >= largePage {
		boundary = largePage
	}
	buffer := make([]T, n+boundary/size)
	skip := 0
	if past := int(uintptr(unsafe.Pointer(&buffer[0])) % uintptr(boundary)); past != 0 {
		skip = (boundary - past) / size
	}
	made := buffer[skip : skip+n : skip+n]
	if boundary == largePage {
		adviseLarge(wholePages(unsafe.Slice((*byte)(unsafe.Pointer(&made[0])), n*size)))
	}
	return made
}

// largePage is the size of a large page of memory on most machines.
const largePage = 1 << 21

// wholePages returns the large pages that have nothing but b in them.
func wholePages(b []byte) []byte {
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % largePage)
	if len(b) < skip+largePage {
		return nil
	}
	b = b[skip:]
	return b[:len(b)/largePage*largePage]
}
