package features

import (
	"github.com/pate-go/pate/dataset"
)

// Extractor computes the features of one image. Implementations keep no state
// between images and may be used from many goroutines at once.
type Extractor interface {
	// Name identifies the extractor and all its parameters, for reports and for
	// the names of files that hold features.
	Name() string
	// Dim is the number of features for images of this shape, or 0 if such images
	// cannot be used.
	Dim(shape dataset.Shape) int
	// Extract fills dst, of length Dim(shape), from img, of length shape.Pixels(),
	// row-major. It does not change img. It panics if a length is wrong, and at no
	// pixels: of those that are not finite, features need not be either.
	Extract(dst, img []float32, shape dataset.Shape)
}

// Raw is the pixels themselves.
type Raw struct{}

func (Raw) Name() string { return "raw" }

func (Raw) Dim(shape dataset.Shape) int { return shape.Pixels() }

func (r Raw) Extract(dst, img []float32, shape dataset.Shape) {
	checkLengths(r, dst, img, shape)
	copy(dst, img)
}

func checkLengths(e Extractor, dst, img []float32, shape dataset.Shape) {
	if len(img) != shape.Pixels() || len(dst) != e.Dim(shape) {
		panic("features: " + e.Name() + ": wrong length of image or destination")
	}
}
