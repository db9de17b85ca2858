package features

import "github.com/pate-go/pate/internal/kernel"

// lanes is the number of images that lie side by side, those of a vector.
const lanes = 8

// point is the numbers of a point: a complex signal of the images, real parts first, or two
// real ones.
const point = 2 * lanes

// grid holds signals at points, row by row.
type grid struct {
	data       []float32
	rows, cols int
	row        int // from a row to the next
}

// newGrid returns a grid with room for what nobody reads. An odd number of points in a row keeps
// those of a column apart in the caches.
func newGrid(rows, cols int) grid {
	g := grid{rows: rows, cols: cols, row: (cols | 1) * point}
	g.data = make([]float32, rows*g.row+point)
	return g
}

// newGrids returns grids that lie one behind the other in memory, in which apart is how far.
func newGrids(n, rows, cols int) (all []grid, apart int) {
	g := newGrid(rows, cols)
	apart = len(g.data)
	data := make([]float32, n*apart)
	for i := range n {
		g.data = data[i*apart:]
		all = append(all, g)
	}
	return all, apart
}

// point returns the place of a point.
func (g grid) point(row, col int) int { return row*g.row + col*point }

// spare returns the place of what nobody reads.
func (g grid) spare() int { return g.rows * g.row }

// at returns what begins with the given point.
func (g grid) at(row, col int) []float32 { return g.data[g.point(row, col):] }

// across returns the points along columns from the given one on, every row of the grid a strip;
// down those along rows, every column a strip.
func (g grid) across(col, step int) kernel.Strips {
	return kernel.Strips{At: g.point(0, col), Row: step * point, Step: g.row}
}

func (g grid) down(row, step int) kernel.Strips {
	return kernel.Strips{At: g.point(row, 0), Row: step * g.row, Step: point}
}

// matrix is a small dense matrix by which a dimension is transformed.
type matrix struct {
	m, n int
	v    []float32
}

func newMatrix(m, n int, at func(i, j int) float64) matrix {
	out := matrix{m: m, n: n, v: make([]float32, m*n)}
	for i := range m {
		for j := range n {
			out.v[i*n+j] = float32(at(i, j))
		}
	}
	return out
}

// alongRows transforms the first dimension of src from the given row on to that of dst.
func (m matrix) alongRows(dst grid, to int, src grid, from int) {
	kernel.MulAB(dst.at(to, 0), dst.row, m.v, m.n, src.at(from, 0), src.row, m.m, src.cols*point, m.n)
}

// alongCols transforms the second dimension of src likewise, of its first rows.
func (m matrix) alongCols(dst grid, to int, src grid, from, rows int) {
	for r := range rows {
		kernel.MulAB(dst.at(r, to), point, m.v, m.n, src.at(r, from), point, m.m, point, m.n)
	}
}
