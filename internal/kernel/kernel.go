package kernel

import "unsafe"

// Float is the element type. Training uses float32; tests repeat it in float64.
type Float interface{ float32 | float64 }

// path is the set of instructions that the loops use. A machine that has a path has all before it.
type path uint8

const (
	portable path = iota
	avx2          // and FMA
	avx512
)

// pathOf returns the path of functions on T. For float64 there is no assembly.
func pathOf[T Float]() path {
	if unsafe.Sizeof(T(0)) == 4 {
		return machine
	}
	return portable
}

// check panics unless x has room for rows of cols elements, ld apart.
func check[T Float](x []T, ld, rows, cols int) {
	if rows < 0 || cols < 0 {
		panic("kernel: negative dimension")
	}
	if rows == 0 || cols == 0 {
		return
	}
	if ld < cols || len(x) < cols || rows-1 > (len(x)-cols)/ld {
		panic("kernel: slice too short for its dimensions")
	}
}

// match panics unless the dimensions of operands match.
func match(ok bool) {
	if !ok {
		panic("kernel: dimension mismatch")
	}
}

// zero clears an m by n matrix.
func zero[T Float](dst []T, ldd, m, n int) {
	if n == 0 {
		return
	}
	for i := range m {
		clear(dst[i*ldd : i*ldd+n])
	}
}
