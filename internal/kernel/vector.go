package kernel

import "unsafe"

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

// MulVec sets dst[k] to the inner product of row k of w with x: [MulBT] of one
// row. w has len(dst) rows of len(x) columns, stride apart.
func MulVec[T Float](dst, w []T, stride int, x []T) {
	MulBT(dst, len(dst), x, len(x), w, stride, 1, len(dst), len(x))
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
				AddScaled(row, g[i*outputs+k], x[i][from:to])
			}
		}
	}
}
