package features

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"gonum.org/v1/gonum/blas/blas32"
)

// chunk is how many images a worker takes at a time.
const chunk = 64

// Apply extracts the features of every row of set with the given number of
// workers (at least 1). The result is set.X.Rows x e.Dim(shape), the same for any
// number of workers; it shares no memory with set. Rows of a set without an image
// shape count as images of one line. When ctx ends, Apply returns its error and no
// matrix.
// Pixels or features that are NaN or infinite are an error.
func Apply(ctx context.Context, set dataset.Set, e Extractor, workers int) (blas32.General, error) {
	dim, err := dimOf(set, e)
	if err != nil {
		return blas32.General{}, err
	}
	out := blas32.General{Rows: set.X.Rows, Cols: dim, Stride: dim, Data: make([]float32, set.X.Rows*dim)}
	if err := ApplyTo(ctx, out, set, e, workers); err != nil {
		return blas32.General{}, err
	}
	return out, nil
}

// shapeOf returns the shape of what rows of a set are extracted from.
func shapeOf(set dataset.Set) dataset.Shape {
	if set.Image == (dataset.Shape{}) {
		return dataset.Shape{Rows: 1, Cols: set.X.Cols}
	}
	return set.Image
}

func dimOf(set dataset.Set, e Extractor) (int, error) {
	shape := shapeOf(set)
	if shape.Pixels() != set.X.Cols {
		return 0, fmt.Errorf("features: set %q has rows of %d for images of %dx%d", set.Name, set.X.Cols, shape.Rows, shape.Cols)
	}
	dim := e.Dim(shape)
	if dim < 1 {
		return 0, fmt.Errorf("features: %s cannot be computed on images of %dx%d", e.Name(), shape.Rows, shape.Cols)
	}
	return dim, nil
}

// ApplyTo does what [Apply] does to a matrix at hand, whose rows may lie apart. After an
// error its contents are undefined.
func ApplyTo(ctx context.Context, out blas32.General, set dataset.Set, e Extractor, workers int) error {
	if err := checkMatrix(out, set, e); err != nil {
		return err
	}
	return extract(ctx, floatRows{out}, set, e, workers)
}

// extract sets all rows of out to features.
func extract(ctx context.Context, out rows, set dataset.Set, e Extractor, workers int) error {
	if err := checkArguments(ctx, set, e, workers); err != nil {
		return err
	}
	shape, dim := shapeOf(set), e.Dim(shapeOf(set))
	var next, bad atomic.Int64
	bad.Store(-1)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			var scratch blas32.General
			for ctx.Err() == nil && bad.Load() < 0 {
				from := int(next.Add(chunk)) - chunk
				if from >= set.X.Rows {
					return
				}
				to := min(from+chunk, set.X.Rows)
				images, features := dense.Rows(set.X, from, to), out.place(from, to)
				if features.Data == nil {
					if scratch.Data == nil {
						scratch = dense.New(chunk, dim)
					}
					features = dense.Rows(scratch, 0, to-from)
				}
				at := dense.NotFinite(images)
				if at < 0 {
					extractBatch(e, features, images, shape)
					at = out.take(from, features)
				}
				if at >= 0 {
					bad.Store(int64(from + at))
				}
			}
		})
	}
	wg.Wait()
	if err := ended(ctx, e); err != nil {
		return err
	}
	if i := bad.Load(); i >= 0 {
		return fmt.Errorf("features: row %[2]d of set %[3]q: pixels or %[1]s are not finite", e.Name(), i, set.Name)
	}
	return nil
}

// checkArguments checks what extraction is called with.
func checkArguments(ctx context.Context, set dataset.Set, e Extractor, workers int) error {
	if workers < 1 {
		return fmt.Errorf("features: %d workers, at least 1 needed", workers)
	}
	if _, err := dimOf(set, e); err != nil {
		return err
	}
	return ended(ctx, e)
}

// checkMatrix checks that a matrix is for the features of a set.
func checkMatrix(out blas32.General, set dataset.Set, e Extractor) error {
	dim, err := dimOf(set, e)
	if err != nil {
		return err
	}
	if out.Rows != set.X.Rows || out.Cols != dim || dense.Check(out) != nil {
		return fmt.Errorf("features: %d x %d features into a matrix of %d x %d, stride %d, %d values", set.X.Rows, dim, out.Rows, out.Cols, out.Stride, len(out.Data))
	}
	return nil
}

// ended returns the error of a context that has ended.
func ended(ctx context.Context, e Extractor) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("features: %s: %w", e.Name(), err)
	}
	return nil
}
