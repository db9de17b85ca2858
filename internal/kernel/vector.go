package kernel

import (
	"unsafe"

	"gonum.org/v1/gonum/blas/gonum"
)

// alignment in bytes of what Aligned returns: a cache line, and a multiple of
// every vector register in use.
const alignment = 64

// Aligned returns n zeros that start on a 64-byte boundary.
func Aligned[T Float](n int) []T {
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

// Padded rounds a number of columns up so that rows laid out with that stride
// in an Aligned buffer all start on a boundary.
func Padded[T Float](cols int) int {
	per := alignment / int(unsafe.Sizeof(T(0)))
	return (cols + per - 1) / per * per
}

// dot is the inner product. Its rounding depends on the address of y modulo 16
// bytes, and on nothing else besides the values.
func dot[T Float](x, y []T) T {
	switch x := any(x).(type) {
	case []float32:
		return T(gonum.Implementation{}.Sdot(len(x), x, 1, any(y).([]float32), 1))
	case []float64:
		return T(gonum.Implementation{}.Ddot(len(x), x, 1, any(y).([]float64), 1))
	}
	panic("kernel: unreachable")
}

// axpy adds a x to y. It works element by element: no address, length or
// neighbour changes a result.
func axpy[T Float](a T, x, y []T) {
	switch x := any(x).(type) {
	case []float32:
		gonum.Implementation{}.Saxpy(len(x), float32(a), x, 1, any(y).([]float32), 1)
	case []float64:
		gonum.Implementation{}.Daxpy(len(x), float64(a), x, 1, any(y).([]float64), 1)
	}
}

// MulVec sets dst[k] to the inner product of row k of w with x. w has
// len(dst) rows of len(x) columns, stride apart, in a buffer made by Aligned
// with a stride made by Padded (it panics otherwise); x may lie anywhere.
func MulVec[T Float](dst, w []T, stride int, x []T) {
	if len(dst) == 0 || len(x) == 0 {
		clear(dst)
		return
	}
	if stride != Padded[T](stride) || uintptr(unsafe.Pointer(&w[0]))%alignment != 0 {
		panic("kernel: weights are not aligned")
	}
	for k := range dst {
		dst[k] = dot(x, w[k*stride:k*stride+len(x)])
	}
}

// outerTile is the number of columns that AddOuter works on at a time: short enough
// for the rows of a block to stay in the first-level cache while all outputs
// pass over them, long enough for the vector loop to outweigh its call.
const outerTile = 768

// AddOuter adds the sum over i of g[i] x[i]^T to w, row-major with cols
// columns: w[k][j] += g[i*outputs+k] * x[i][j], for i in order, where outputs =
// len(w)/cols. g has len(x) rows. Every element of w is one chain of
// multiplications and additions in the order of i, so with all |x| and |g|
// finite its rounding error is at most gamma_m sum_i |g_ik x_ij| with m =
// len(x) + 1 and gamma_m = m u/(1 - m u), if w was zero with m = len(x).
func AddOuter[T Float](w []T, cols int, g []T, x [][]T) {
	if cols == 0 {
		return
	}
	outputs := len(w) / cols
	if len(w) != outputs*cols || len(g) != outputs*len(x) {
		panic("kernel: dimension mismatch")
	}
	for from := 0; from < cols; from += outerTile {
		to := min(from+outerTile, cols)
		for k := range outputs {
			row := w[k*cols+from : k*cols+to]
			for i := range x {
				axpy(g[i*outputs+k], x[i][from:to], row)
			}
		}
	}
}
