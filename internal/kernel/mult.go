package kernel

import "gonum.org/v1/gonum/blas/blas32"

// MulT sets dst to a times the transpose of b: dst[i][j] = <a_i, b_j>, all
// pairs of rows. a is n by d, b is m by d, dst is n by m; it panics when they
// are not. Element (i, j) is a function of the two rows alone, so goroutines
// may share a product by taking rows of a each.
func MulT(dst, a, b blas32.General) {
	if a.Cols != b.Cols || dst.Rows != a.Rows || dst.Cols != b.Rows {
		panic("kernel: dimension mismatch")
	}
	const rows = 8 // of b at a time: they stay in the first-level cache for 784 columns
	stride := Padded[float32](b.Cols)
	packed := Aligned[float32](rows * stride)
	for from := 0; from < b.Rows; from += rows {
		to := min(from+rows, b.Rows)
		for j := from; j < to; j++ {
			copy(packed[(j-from)*stride:], b.Data[j*b.Stride:j*b.Stride+b.Cols])
		}
		for i := range a.Rows {
			MulVec(dst.Data[i*dst.Stride+from:i*dst.Stride+to], packed, stride, a.Data[i*a.Stride:i*a.Stride+a.Cols])
		}
	}
}
