package texts

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

const (
	spare      = 20 // more random vectors than directions
	iterations = 4
)

// rightDirections returns at most dim leading right singular vectors of a sparse matrix, or nil for a zero
// matrix.
func rightDirections(rows [][]entry, columns, dim int) []float64 {
	// The result has dim numbers for each column of the matrix. The algorithm is subspace iteration from
	// random vectors with a fixed seed (Halko, Martinsson, Tropp 2011, algorithm 4.4). Vectors with singular
	// values below 1e-6 of the largest are left out.
	width := min(dim+spare, len(rows), columns)
	if width == 0 {
		return nil
	}
	rnd := rand.New(rand.NewPCG(1, 34))
	left := general(len(rows), width)
	for i := range left.Data {
		left.Data[i] = rnd.NormFloat64()
	}
	right := general(columns, width)
	for range iterations {
		orthogonalize(left)
		multiply(right, left, rows, true)
		multiply(left, right, rows, false)
	}
	orthogonalize(left)
	multiply(right, left, rows, true)
	var eigen mat.EigenSym
	gram := mat.NewSymDense(width, nil)
	whole := mat.NewDense(columns, width, right.Data)
	gram.SymOuterK(1, whole.T())
	if !eigen.Factorize(gram, true) {
		return nil
	}
	values := eigen.Values(nil) // ascending
	slices.Reverse(values)
	kept := 0
	for kept < min(dim, width) && values[kept] > 1e-12*values[0] {
		kept++
	}
	if kept == 0 {
		return nil
	}
	var vectors, out mat.Dense
	eigen.VectorsTo(&vectors)
	turn := mat.NewDense(width, kept, nil)
	for j := range kept {
		for i := range width {
			turn.Set(i, j, vectors.At(i, width-1-j)/math.Sqrt(values[j]))
		}
	}
	out.Mul(whole, turn)
	return out.RawMatrix().Data
}

func general(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
}

func multiply(dst, b blas64.General, rows [][]entry, transposed bool) {
	clear(dst.Data)
	for i, row := range rows {
		for _, e := range row {
			to, from := i, e.word
			if transposed {
				to, from = from, to
			}
			d, v := dst.Data[to*dst.Stride:(to+1)*dst.Stride], b.Data[from*b.Stride:(from+1)*b.Stride]
			for j := range d {
				d[j] += e.weight * v[j]
			}
		}
	}
}

func orthogonalize(a blas64.General) {
	tau := make([]float64, a.Cols)
	work := make([]float64, 64*a.Cols)
	lapack64.Geqrf(a, tau, work, len(work))
	lapack64.Orgqr(a, tau, work, len(work))
}
