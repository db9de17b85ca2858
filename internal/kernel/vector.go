package kernel

import "unsafe"

// alignment is the boundary in bytes of what aligned returns: a cache line, and a multiple
// of every vector register in use.
const alignment = 64

// aligned returns n zeros that start on a 64-byte boundary.
func aligned[T Float](n int) []T {
	if n == 0 {
		return nil
	}
	size := int(unsafe.Sizeof(T(0)))
	buffer := make([]T, n+alignment/size)
	skip := 0
	if past := int(uintptr(unsafe.Pointer(&buffer[0])) % alignment); past != 0 {
		skip = (alignment - past) / size
	}
	return buffer[skip : skip+n : skip+n]
}
