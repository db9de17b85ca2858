package features

import (
	"encoding/binary"
	"math"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/sealed"
	"gonum.org/v1/gonum/blas/blas32"
)

// rows is where features go: a matrix, or a packed one.
type rows interface {
	// count returns the number of rows, size that of the bytes of a row in a file.
	count() int
	size() int
	// kind names what a file of them holds.
	kind() string
	// place returns the matrix of rows from <= i < to, or one without data if what is made must
	// be handed to take.
	place(from, to int) blas32.General
	// take takes rows from the given one on, which may be those of place. It returns the first
	// that is not finite, -1 if there is none.
	take(from int, x blas32.General) int
	// append appends row i as it is in a file, and set takes it from there.
	append(b []byte, i int) []byte
	set(i int, b []byte)
}

// floatRows is a matrix of float32.
type floatRows struct{ blas32.General }

func (x floatRows) count() int { return x.Rows }

func (x floatRows) size() int { return 4 * x.Cols }

func (floatRows) kind() string { return "float32" }

func (x floatRows) place(from, to int) blas32.General { return dense.Rows(x.General, from, to) }

func (floatRows) take(_ int, x blas32.General) int { return dense.NotFinite(x) }

func (x floatRows) append(b []byte, i int) []byte { return sealed.Append(b, dense.Row(x.General, i)) }

func (x floatRows) set(i int, b []byte) {
	row := dense.Row(x.General, i)
	for j := range row {
		row[j] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*j:]))
	}
}

// packedRows is a packed matrix.
type packedRows struct{ *Packed }

func (p packedRows) count() int { return p.rows }

func (p packedRows) size() int { return 1 + 2*p.cols }

func (packedRows) kind() string { return "packed" }

func (packedRows) place(int, int) blas32.General { return blas32.General{} }

func (p packedRows) take(from int, x blas32.General) int {
	for i := range x.Rows {
		if p.Pack(from+i, dense.Row(x, i)) != nil {
			return i
		}
	}
	return -1
}

func (p packedRows) set(i int, b []byte) {
	p.exponents[i] = int8(b[0])
	kernel.LoadInt16(p.row(i), b[1:])
	p.hash.Store(nil)
}
