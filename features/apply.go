package features

import (
	"context"
	"encoding/binary"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/sealed"
)

// Apply extracts the features of every row of set with the given number of
// workers (at least 1). The result is set.X.Rows x e.Dim(shape), the same for any
// number of workers; it shares no memory with set. Rows of a set without an image
// shape count as images of one line. When ctx ends, Apply returns its error and no
// matrix.
// Pixels or features that are NaN or infinite are an error.
func Apply(ctx context.Context, set dataset.Set, e Extractor, workers int) (blas32.General, error) {
	return toMatrix(ctx, set, e, workers, (*extraction).run)
}

// Pack does what [Apply] does and keeps the result packed. The hash of the result is of the pixels,
// the extractor's name and what the extractor makes of test images: of all that features are a
// function of.
func Pack(ctx context.Context, set dataset.Set, e Extractor, workers int) (*Packed, error) {
	return toPacked(ctx, set, e, workers, (*extraction).run)
}

// filler sets all rows of out to the features of an extraction.
type filler func(x *extraction, ctx context.Context, out rows) error

// toMatrix returns features as a matrix.
func toMatrix(ctx context.Context, set dataset.Set, e Extractor, workers int, fill filler) (blas32.General, error) {
	x, err := newExtraction(ctx, set, e, workers)
	if err != nil {
		return blas32.General{}, err
	}
	out := dense.New(set.X.Rows, x.dim)
	if err := fill(x, ctx, floatRows{out}); err != nil {
		return blas32.General{}, err
	}
	return out, nil
}

// toPacked returns features packed.
func toPacked(ctx context.Context, set dataset.Set, e Extractor, workers int, fill filler) (*Packed, error) {
	x, err := newExtraction(ctx, set, e, workers)
	if err != nil {
		return nil, err
	}
	out := newPacked(set.X.Rows, x.dim)
	if err := fill(x, ctx, packedRows{out}); err != nil {
		return nil, err
	}
	key, err := x.key(ctx, packedRows{out}.kind())
	if err != nil {
		return nil, err
	}
	out.hash.Store(&key)
	return out, nil
}

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
