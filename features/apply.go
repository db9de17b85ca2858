package features

import (
	"context"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
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
