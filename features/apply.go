package features

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/internal/sealed"
)

// Apply extracts the features of every row of set. A row without an image shape counts as an image of one
// line. The result does not depend on the argument workers, which must be at least 1. A pixel or feature that
// is not finite is an error.
func Apply(ctx context.Context, set dataset.Set, e Extractor, workers int) (blas32.General, error) {
	return toMatrix(ctx, set, e, workers, (*extraction).run)
}

// Pack is [Apply] with a packed result. The result's hash covers all inputs (see [Cache]).
func Pack(ctx context.Context, set dataset.Set, e Extractor, workers int) (*Packed, error) {
	return toPacked(ctx, set, e, workers, (*extraction).run)
}

type filler func(x *extraction, ctx context.Context, out rows) error

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

type rows interface {
	count() int
	size() int    // bytes of a row in a file
	kind() string // format name in the key of a file
	place(from, to int) blas32.General
	// take stores the rows of x, with row i at index from+i. It returns the first i whose row is not finite,
	// or -1.
	take(from int, x blas32.General) int
	append(b []byte, i int) []byte
	set(i int, b []byte)
}

type floatRows struct{ blas32.General }

func (x floatRows) count() int { return x.Rows }
func (x floatRows) size() int  { return 4 * x.Cols }
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

type packedRows struct{ *Packed }

func (p packedRows) count() int { return p.rows }
func (p packedRows) size() int  { return 1 + 2*p.cols }
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

type extraction struct {
	set     dataset.Set
	by      Extractor
	shape   dataset.Shape
	dim     int
	workers int
	keyed   *[sha256.Size]byte // nil before it is computed
}

func newExtraction(ctx context.Context, set dataset.Set, e Extractor, workers int) (*extraction, error) {
	x := &extraction{set: set, by: e, shape: set.Image, workers: workers}
	if x.shape == (dataset.Shape{}) {
		x.shape = dataset.Shape{Rows: 1, Cols: set.X.Cols}
	}
	if workers < 1 {
		return nil, fmt.Errorf("features: at least 1 worker is needed, not %d", workers)
	}
	if x.shape.Pixels() != set.X.Cols {
		return nil, fmt.Errorf("features: set %q has rows of %d for images of %dx%d", set.Name, set.X.Cols, x.shape.Rows, x.shape.Cols)
	}
	if x.dim = e.Dim(x.shape); x.dim < 1 {
		return nil, fmt.Errorf("features: %s cannot be computed on images of %dx%d", e.Name(), x.shape.Rows, x.shape.Cols)
	}
	return x, x.ended(ctx)
}

func (x *extraction) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("features: %s: %w", x.by.Name(), err)
	}
	return nil
}

func (x *extraction) pixels(from, to int) blas32.General {
	if x.set.X.Data == nil && from < to { // the set keeps bytes
		if part, err := x.set.Slice(from, to); err == nil {
			return part.X
		}
	}
	return dense.Rows(x.set.X, from, to)
}

const chunk = 64

func (x *extraction) run(ctx context.Context, out rows) error {
	var bad atomic.Int64
	bad.Store(-1)
	rows, scratch := x.set.X.Rows, make([]blas32.General, x.workers)
	parallel.Each(x.workers, (rows+chunk-1)/chunk, func(worker, i int) {
		if ctx.Err() != nil || bad.Load() >= 0 {
			return
		}
		from, to := i*chunk, min((i+1)*chunk, rows)
		pixels, features := x.pixels(from, to), out.place(from, to)
		if features.Data == nil {
			if scratch[worker].Data == nil {
				scratch[worker] = dense.New(chunk, x.dim)
			}
			features = dense.Rows(scratch[worker], 0, to-from)
		}
		at := dense.NotFinite(pixels)
		if at < 0 {
			extractBatch(x.by, features, pixels, x.shape)
			at = out.take(from, features)
		}
		if at >= 0 {
			bad.Store(int64(from + at))
		}
	})
	if err := x.ended(ctx); err != nil {
		return err
	}
	if i := bad.Load(); i >= 0 {
		return fmt.Errorf("features: row %[2]d of set %[3]q: pixels or %[1]s are not finite", x.by.Name(), i, x.set.Name)
	}
	return nil
}

// key also hashes the extractor's features of fixed test images, so that a changed extractor gets another
// key.
func (x *extraction) key(ctx context.Context, kind string) ([sha256.Size]byte, error) {
	if x.keyed != nil {
		return *x.keyed, nil
	}
	rows, name := x.set.X.Rows, x.by.Name()
	h := sha256.New()
	fmt.Fprintf(h, "pate features 5 %s %d %s %d %d %d %d\n", kind, len(name), name, x.shape.Rows, x.shape.Cols, rows, x.dim)
	h.Write(sealed.Append(nil, x.probe()))
	hashAll(h, rows, x.workers, func(b []byte, from, to int) []byte {
		if ctx.Err() != nil {
			return b
		}
		images := x.pixels(from, to)
		for i := range images.Rows {
			b = sealed.Append(b, dense.Row(images, i))
		}
		return b
	})
	if err := x.ended(ctx); err != nil {
		return [sha256.Size]byte{}, err
	}
	key := [sha256.Size]byte(h.Sum(nil))
	x.keyed = &key
	return key, nil
}

const probes = 3

func (x *extraction) probe() []float32 {
	img, dst := make([]float32, x.shape.Pixels()), make([]float32, probes*x.dim)
	for k := range probes {
		for i := range img {
			img[i] = [probes]float32{0, -0.5, float32(uint64(i)*uint64(i)*7919%1009) / 1009}[k]
		}
		x.by.Extract(dst[k*x.dim:(k+1)*x.dim], img, x.shape)
	}
	return dst
}
