// Package dense creates, slices, checks and multiplies float32 matrices.
package dense

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/parallel"
)

// Matrix is a row-major matrix: element (i, j) is Data[i*Stride+j].
type Matrix = blas32.General

func New(rows, cols int) Matrix {
	return Matrix{Rows: rows, Cols: cols, Stride: max(1, cols), Data: make([]float32, rows*cols)}
}

// Row returns row i of m, sharing memory with m.
func Row(m Matrix, i int) []float32 { return m.Data[i*m.Stride : i*m.Stride+m.Cols] }

// Rows returns the rows from, ..., to-1 of m. The result shares memory with m.
func Rows(m Matrix, from, to int) Matrix {
	m.Rows, m.Data = to-from, m.Data[min(from*m.Stride, len(m.Data)):]
	return m
}

// Columns returns the columns j of m with from <= j < to. The result shares memory with m.
func Columns(m Matrix, from, to int) Matrix {
	m.Cols, m.Data = to-from, m.Data[min(from, len(m.Data)):]
	return m
}

// Groups returns the indices of the rows with each name. Groups have the order of their first rows.
func Groups(names []string) (groups [][]int) {
	place := make(map[string]int, len(names))
	for i, name := range names {
		at, there := place[name]
		if !there {
			at = len(groups)
			place[name] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

// Pick returns a copy of the rows of m with the given indices, in their order.
func Pick(m Matrix, indices []int) Matrix {
	out := New(len(indices), m.Cols)
	for i, r := range indices {
		copy(Row(out, i), Row(m, r))
	}
	return out
}

// Check returns an error if m has no columns or too few data. A matrix without rows is valid.
func Check(m Matrix) error {
	// The products that a simpler condition needs could overflow.
	if m.Rows < 0 || m.Cols < 1 || m.Stride < m.Cols || m.Rows > 0 && (len(m.Data) < m.Cols || (len(m.Data)-m.Cols)/m.Stride < m.Rows-1) {
		return fmt.Errorf("the matrix is malformed: %d x %d, stride %d, %d values", m.Rows, m.Cols, m.Stride, len(m.Data))
	}
	return nil
}

// Finite reports whether all values of v are finite.
func Finite(v []float32) bool { return mathx.IsFinite(kernel.SquaredNorm(v)) }

// NotFinite returns the index of the first row of m with a value that is not finite, or -1.
func NotFinite(m Matrix) int {
	for i := range m.Rows {
		if !Finite(Row(m, i)) {
			return i
		}
	}
	return -1
}

// Argmax returns the index of the largest value of v, and the lowest such index in a tie.
func Argmax[T float32 | int64](v []T) int {
	best := 0
	for i, x := range v {
		if x > v[best] {
			best = i
		}
	}
	return best
}

// Largest returns the index of the largest output, and the lowest such index in a tie. An output that is
// infinite or NaN is an error.
func Largest(outputs []float32) (int, error) {
	for k, v := range outputs {
		if v-v != 0 {
			return 0, fmt.Errorf("output %d is not finite", k)
		}
	}
	return Argmax(outputs), nil
}

// Present returns the classes that occur in labels, in ascending order. The result index[i] is the position
// of labels[i] in present. Labels must be in [0, classes).
func Present[I int | int32](labels []int, classes int) (present []int, index []I) {
	at := make([]I, classes)
	for _, y := range labels {
		at[y] = 1
	}
	for class, occurs := range at {
		if occurs == 1 {
			at[class] = I(len(present))
			present = append(present, class)
		}
	}
	index = make([]I, len(labels))
	for i, y := range labels {
		index[i] = at[y]
	}
	return present, index
}

func SquaredNorms(m Matrix) []float32 {
	norms := make([]float32, m.Rows)
	for i := range norms {
		norms[i] = float32(kernel.SquaredNorm(Row(m, i)))
	}
	return norms
}

func MulAB(dst, a, b Matrix) {
	kernel.MulAB(dst.Data, dst.Stride, a.Data, a.Stride, b.Data, b.Stride, a.Rows, b.Cols, a.Cols)
}

// MulBT sets dst to a·bᵀ.
func MulBT(dst, a, b Matrix) {
	kernel.MulBT(dst.Data, dst.Stride, a.Data, a.Stride, b.Data, b.Stride, a.Rows, b.Rows, a.Cols)
}

// AddATB adds aᵀ·b to dst.
func AddATB(dst, a, b Matrix) {
	kernel.AddATB(dst.Data, dst.Stride, a.Data, a.Stride, b.Data, b.Stride, a.Cols, b.Cols, a.Rows)
}

// RBF is the Gaussian kernel exp(-Gamma |x-z|²).
type RBF struct{ Gamma float32 }

// Block sets dst[i][j] to the kernel of row i of x and row j of z. The slices normX and normZ hold the
// squared norms of the rows. A squared distance has a rounding error of a few times 1e-7 (|x|² + |z|²). A
// negative squared distance counts as zero.
func (k RBF) Block(dst, x Matrix, normX []float32, z Matrix, normZ []float32) {
	MulBT(dst, x, z)
	for i := range dst.Rows {
		kernel.Gaussian(Row(dst, i), normX[i], normZ[:dst.Cols], k.Gamma)
	}
}

// Cholesky is the upper triangular factor R of a symmetric positive definite matrix a = RᵀR.
//
// Most operations are products of float32 matrices. R is the exact factor of a + E, where E_ij is about 1e-7
// sqrt(a_ii a_jj). The norm of E grows with the square root of the number of rows. If a has eigenvalues below
// this norm, a may have no factor.
type Cholesky struct {
	r        Matrix   // undefined below the diagonal
	inverses []Matrix // of the diagonal blocks
}

const choleskyBlock = 64

const choleskyTile = 256

// Factorize returns the Cholesky factor of the square matrix a, or false if there is none. It reads the upper
// triangle of a and overwrites a. The result does not depend on the number of processors.
func Factorize(a Matrix) (Cholesky, bool) {
	n := a.Rows
	c := Cholesky{r: a}
	panel, negative := New(choleskyBlock, n), New(choleskyBlock, n)
	for from := 0; from < n; from += choleskyBlock {
		to := min(from+choleskyBlock, n)
		inverse, ok := factorizeBlock(Columns(Rows(a, from, to), from, to))
		if !ok {
			return c, false
		}
		c.inverses = append(c.inverses, inverse)
		tiles := (n - to + choleskyTile - 1) / choleskyTile
		of := func(m Matrix, t int) Matrix { // columns of the tile
			return Columns(m, to+t*choleskyTile, min(to+(t+1)*choleskyTile, n))
		}
		panel, negative := Rows(panel, 0, to-from), Rows(negative, 0, to-from)
		parallel.Each(0, tiles, func(_, t int) {
			right, copied, opposite := of(Rows(a, from, to), t), of(panel, t), of(negative, t)
			for i := range right.Rows {
				copy(Row(copied, i), Row(right, i))
				clear(Row(right, i))
			}
			AddATB(right, inverse, copied)
			for i := range right.Rows {
				kernel.Scale(Row(opposite, i), -1, Row(right, i))
			}
		})
		parallel.Each(0, tiles, func(_, t int) {
			top := to + t*choleskyTile
			rows := Rows(a, top, min(top+choleskyTile, n))
			AddATB(Columns(rows, top, n), of(negative, t), Columns(Rows(a, from, to), top, n))
		})
	}
	return c, true
}

func factorizeBlock(a Matrix) (Matrix, bool) {
	var r, inverse [choleskyBlock][choleskyBlock]float64
	n := a.Rows
	for i := range n {
		for j := i; j < n; j++ {
			sum := float64(a.Data[i*a.Stride+j])
			for k := range i {
				sum -= float64(r[k][i] * r[k][j])
			}
			if i < j {
				r[i][j] = sum / r[i][i]
				continue
			}
			if !(sum > 0) || math.IsInf(sum, 1) {
				return Matrix{}, false
			}
			r[i][i] = math.Sqrt(sum)
		}
	}
	out := New(n, n)
	for j := range n {
		inverse[j][j] = 1 / r[j][j]
		for i := j - 1; i >= 0; i-- {
			sum := 0.
			for k := i + 1; k <= j; k++ {
				sum -= float64(r[i][k] * inverse[k][j])
			}
			inverse[i][j] = sum / r[i][i]
		}
	}
	for i := range n {
		for j := i; j < n; j++ {
			a.Data[i*a.Stride+j] = float32(r[i][j])
			out.Data[i*out.Stride+j] = float32(inverse[i][j])
		}
	}
	return out, true
}

// Solve replaces every column c of b by the solution x of a·x = c, where a is the factorized matrix.
func (c Cholesky) Solve(b Matrix) {
	n := c.r.Rows
	part := New(choleskyBlock, b.Cols)
	at := func(block int) (from, to int) {
		return block * choleskyBlock, min((block+1)*choleskyBlock, n)
	}
	for block, inverse := range c.inverses { // Rᵀ y = b, from the top
		from, to := at(block)
		rows, part := Rows(b, from, to), Rows(part, 0, to-from)
		for i := range rows.Rows {
			copy(Row(part, i), Row(rows, i))
			clear(Row(rows, i))
		}
		AddATB(rows, inverse, part)
		for i := range rows.Rows {
			kernel.Scale(Row(part, i), -1, Row(rows, i))
		}
		AddATB(Rows(b, to, n), Columns(Rows(c.r, from, to), to, n), part)
	}
	for block := len(c.inverses) - 1; block >= 0; block-- { // R x = y, from the bottom
		from, to := at(block)
		rows, part := Rows(b, from, to), Rows(part, 0, to-from)
		MulAB(part, Columns(Rows(c.r, from, to), to, n), Rows(b, to, n))
		for i := range rows.Rows {
			for j, v := range Row(rows, i) {
				Row(part, i)[j] = v - Row(part, i)[j]
			}
		}
		MulAB(rows, c.inverses[block], part)
	}
}
