package dense

import (
	"math"

	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/parallel"
)

// Cholesky is the factor R of a symmetric positive definite matrix RᵀR, with R upper
// triangular.
//
// Nearly all of the work is products of float32. In blocks on the diagonal sums are float64,
// and the triangle is inverted, so that what stands beside it is a product too. The factor is
// that of a matrix whose elements differ from the given ones by some 1e-7 of the root of the
// product of their diagonal elements, so by norm by that times the root of the number of rows.
// The least eigenvalue should be above that; otherwise there may be no factor.
type Cholesky struct {
	r        Matrix   // of which what is below the diagonal is not defined
	inverses []Matrix // of the blocks on the diagonal
}

// choleskyBlock is the size of blocks on the diagonal.
const choleskyBlock = 64

// choleskyTile is how many columns one goroutine works on at a time.
const choleskyTile = 256

// Factorize returns the factor of a, square, of which it reads the upper triangle, and whether
// there is one. It overwrites a. The factor has the same bits for any number of processors.
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

// factorizeBlock factorizes a block on the diagonal and returns the inverse of the factor,
// with zeros below the diagonal.
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

// Solve replaces the columns of b, which has as many rows as the factorized matrix a, by those
// of x with a·x = b.
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
