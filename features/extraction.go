package features

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync/atomic"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/internal/sealed"
)

// extraction is the features of a set by an extractor, which are to be computed or read.
type extraction struct {
	set     dataset.Set
	by      Extractor
	shape   dataset.Shape
	dim     int
	workers int
	keys    map[string][sha256.Size]byte // by kind, those that were computed
}

// newExtraction checks what extraction is called with.
func newExtraction(ctx context.Context, set dataset.Set, e Extractor, workers int) (*extraction, error) {
	x := &extraction{set: set, by: e, shape: set.Image, workers: workers, keys: map[string][sha256.Size]byte{}}
	if x.shape == (dataset.Shape{}) {
		x.shape = dataset.Shape{Rows: 1, Cols: set.X.Cols}
	}
	if workers < 1 {
		return nil, fmt.Errorf("features: %d workers, at least 1 needed", workers)
	}
	if x.shape.Pixels() != set.X.Cols {
		return nil, fmt.Errorf("features: set %q has rows of %d for images of %dx%d", set.Name, set.X.Cols, x.shape.Rows, x.shape.Cols)
	}
	if x.dim = e.Dim(x.shape); x.dim < 1 {
		return nil, fmt.Errorf("features: %s cannot be computed on images of %dx%d", e.Name(), x.shape.Rows, x.shape.Cols)
	}
	return x, x.ended(ctx)
}

// ended returns the error of a context that has ended.
func (x *extraction) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("features: %s: %w", x.by.Name(), err)
	}
	return nil
}

// chunk is how many images a worker takes at a time.
const chunk = 64

// run sets all rows of out to features.
func (x *extraction) run(ctx context.Context, out rows) error {
	var bad atomic.Int64
	bad.Store(-1)
	images, scratch := x.set.X, make([]blas32.General, x.workers)
	parallel.Each(x.workers, (images.Rows+chunk-1)/chunk, func(worker, i int) {
		if ctx.Err() != nil || bad.Load() >= 0 {
			return
		}
		from, to := i*chunk, min((i+1)*chunk, images.Rows)
		pixels, features := dense.Rows(images, from, to), out.place(from, to)
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

// hashRows is how many rows are hashed together.
const hashRows = 1024

// key identifies features of a kind: it is a SHA-256 of all that they are a function of, pixels,
// the extractor's name and what the extractor makes of test images. The last tells versions
// apart, and kinds of machines, that give other last bits under one name. The only error is the
// end of ctx.
func (x *extraction) key(ctx context.Context, kind string) ([sha256.Size]byte, error) {
	if key, ok := x.keys[kind]; ok {
		return key, nil
	}
	images, name := x.set.X, x.by.Name()
	sums := make([][sha256.Size]byte, (images.Rows+hashRows-1)/hashRows)
	parallel.Each(x.workers, len(sums), func(_, i int) {
		if ctx.Err() != nil {
			return
		}
		h, buffer := sha256.New(), []byte(nil)
		for r := i * hashRows; r < min((i+1)*hashRows, images.Rows); r++ {
			buffer = sealed.Append(buffer[:0], dense.Row(images, r))
			h.Write(buffer)
		}
		h.Sum(sums[i][:0])
	})
	if err := x.ended(ctx); err != nil {
		return [sha256.Size]byte{}, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "pate features 5 %s %d %s %d %d %d %d\n", kind, len(name), name, x.shape.Rows, x.shape.Cols, images.Rows, x.dim)
	h.Write(sealed.Append(nil, x.probe()))
	for _, sum := range sums {
		h.Write(sum[:])
	}
	key := [sha256.Size]byte(h.Sum(nil))
	x.keys[kind] = key
	return key, nil
}

// probes is how many test images there are.
const probes = 3

// probe returns the features of the test images: one that is empty, one that is flat
// and negative, and one in which neighbouring pixels differ, for extractors treat
// images without mass, variance or gradients by themselves.
func (x *extraction) probe() []float32 {
	img, dst := make([]float32, x.shape.Pixels()), make([]float32, probes*x.dim)
	pixels := [probes]func(i int) float32{
		func(int) float32 { return 0 },
		func(int) float32 { return -0.5 },
		func(i int) float32 { return float32(uint64(i)*uint64(i)*7919%1009) / 1009 },
	}
	for k, pixel := range pixels {
		for i := range img {
			img[i] = pixel(i)
		}
		x.by.Extract(dst[k*x.dim:(k+1)*x.dim], img, x.shape)
	}
	return dst
}
