package features

import "github.com/pate-go/pate/internal/kernel"

// tensor holds signals at points of a grid, [row][column][signal][lane], so a
// transform along rows or columns is a matrix times something many columns wide.
type tensor struct {
	data       []float32
	cols       int
	width      int // signals times lanes
	point, row int // from a point to the next, from a row to the next
}

func newTensor(rows, cols, width int) tensor {
	t := tensor{cols: cols, width: width, point: spread(width)}
	t.row = spread(cols * t.point)
	t.data = make([]float32, rows*t.row)
	return t
}

// spread avoids distances at which many points would share a few sets of the
// first-level cache, which makes products two times slower.
func spread(distance int) int {
	if distance%256 == 0 {
		return distance + 16
	}
	return distance
}

// at returns what begins with the given point.
func (t tensor) at(row, col int) []float32 { return t.data[row*t.row+col*t.point:] }

// matrix is a small dense matrix by which a dimension is transformed.
type matrix struct {
	m, n int
	v    []float32
}

func newMatrix(m, n int, v []float64) matrix {
	out := matrix{m: m, n: n, v: make([]float32, m*n)}
	for i, x := range v {
		out.v[i] = float32(x)
	}
	return out
}

// alongRows transforms the first dimension of src to dst, which have as many
// columns.
func (m matrix) alongRows(dst, src tensor) {
	kernel.MulAB(dst.data, dst.row, m.v, m.n, src.data, src.row, m.m, (src.cols-1)*src.point+src.width, m.n)
}

// alongCols transforms row srcRow of src to row dstRow of dst.
func (m matrix) alongCols(dst tensor, dstRow int, src tensor, srcRow int) {
	kernel.MulAB(dst.at(dstRow, 0), dst.point, m.v, m.n, src.at(srcRow, 0), src.point, m.m, src.width, m.n)
}
