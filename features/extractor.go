package features

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
)

// Extractor computes the features of one image. Concurrent calls must be safe.
type Extractor interface {
	// Name identifies the extractor and all its parameters, in reports and in the names of files.
	Name() string
	// Dim returns the number of features of an image, or 0 if the shape is not supported.
	Dim(shape dataset.Shape) int
	// Extract sets dst to the features of img (row-major). It panics unless dst has length Dim(shape) and img
	// has length shape.Pixels(). Non-finite pixels may give non-finite features.
	Extract(dst, img []float32, shape dataset.Shape)
}

const (
	NamePixels = "raw" // pixels, or the encoded columns of a table
	NameHOG    = "hog" // histograms of oriented gradients, standardised per image
	// NameDeskewed and NameDeskewedHOG straighten each image first. Straightening suits handwriting, but not
	// images with a natural slant, such as shoes.
	NameDeskewed    = "deskewed"
	NameDeskewedHOG = "deskewed-hog"
)

func Names() []string { return []string{NameDeskewedHOG, NameHOG, NameDeskewed, NamePixels} }

// For returns the name of the features for teachers and students. Images of at least 8x8 pixels get a
// histogram of oriented gradients, with deskewing first for handwriting. Other rows keep their values.
func For(kind dataset.Kind, shape dataset.Shape) string {
	const least = 8 // smallest side of an image
	switch {
	case shape.Rows < least || shape.Cols < least:
		return NamePixels
	case kind == dataset.Handwriting:
		return NameDeskewedHOG
	}
	return NameHOG
}

// Named returns the extractor with the given name for rows of the given shape. The name is an element of
// [Names] or a result of [Cosines]. Features of a row depend only on this row, so they cost no privacy. A
// shape that does not suit the extractor is an error.
func Named(name string, shape dataset.Shape) (Extractor, error) {
	var e Extractor = StandardHOG()
	switch {
	case name == NamePixels:
		return Raw{}, nil
	case strings.HasPrefix(name, cosinesPrefix):
		return parseCosines(name, shape)
	case !slices.Contains(Names(), name):
		return nil, fmt.Errorf("features %.60q are not one of %s", name, strings.Join(Names(), ", "))
	case shape == dataset.Shape{}:
		return nil, fmt.Errorf("features %q are for images, and these rows are not images; use %q", name, NamePixels)
	case name == NameDeskewed:
		e = Deskew{}
	case name == NameDeskewedHOG:
		e = Deskew{Of: e}
	}
	if shape.Planes() > 1 {
		e = colour{Of: e}
	}
	return Standardize{Of: e}, nil
}

type batcher interface {
	Extractor
	// ExtractBatch computes the same bits as Extract for every row of x.
	ExtractBatch(dst, x blas32.General, shape dataset.Shape)
}

func extractBatch(e Extractor, dst, x blas32.General, shape dataset.Shape) {
	if b, ok := e.(batcher); ok {
		b.ExtractBatch(dst, x, shape)
		return
	}
	for i := range x.Rows {
		e.Extract(dense.Row(dst, i), dense.Row(x, i), shape)
	}
}

func extractOne(e batcher, dst, img []float32, shape dataset.Shape) {
	row := func(v []float32) blas32.General {
		return blas32.General{Rows: 1, Cols: len(v), Stride: len(v), Data: v}
	}
	e.ExtractBatch(row(dst), row(img), shape)
}

func extractThen(of Extractor, dst, x blas32.General, shape dataset.Shape, change func(v []float32)) {
	extractBatch(of, dst, x, shape)
	for i := range dst.Rows {
		change(dense.Row(dst, i))
	}
}

func checkBatch(e Extractor, dst, x blas32.General, shape dataset.Shape) {
	if x.Rows != dst.Rows || x.Cols != shape.Pixels() || dst.Cols != e.Dim(shape) {
		panic("features: " + e.Name() + ": wrong size of images or destination")
	}
}

func checkLengths(e Extractor, dst, img []float32, shape dataset.Shape) {
	if len(img) != shape.Pixels() || len(dst) != e.Dim(shape) {
		panic("features: " + e.Name() + ": wrong length of image or destination")
	}
}

// Raw extracts the pixels.
type Raw struct{}

func (Raw) Name() string { return "raw" }

func (Raw) Dim(shape dataset.Shape) int { return shape.Pixels() }

func (r Raw) Extract(dst, img []float32, shape dataset.Shape) {
	checkLengths(r, dst, img, shape)
	copy(dst, img)
}

// Standardize shifts and scales every vector of features to mean 0 and standard deviation 1. A constant
// vector becomes 0.
type Standardize struct{ Of Extractor }

func (s Standardize) Name() string { return "standardize(" + s.Of.Name() + ")" }

func (s Standardize) Dim(shape dataset.Shape) int { return s.Of.Dim(shape) }

func (s Standardize) Extract(dst, img []float32, shape dataset.Shape) { extractOne(s, dst, img, shape) }

func (s Standardize) ExtractBatch(dst, x blas32.General, shape dataset.Shape) {
	extractThen(s.Of, dst, x, shape, func(v []float32) {
		mean := float32(kernel.Sum(v) / float64(len(v)))
		// Affine computes in double precision, where the difference of two float32 rounds as in one step.
		kernel.Affine(v, v, float64(mean), 1)
		toNorm(v, math.Sqrt(float64(len(v))))
	})
}

func toNorm(v []float32, length float64) {
	norm := math.Sqrt(kernel.SquaredNorm(v))
	if norm < 1e-12 {
		clear(v)
		return
	}
	kernel.Affine(v, v, 0, length/norm)
}

// GroupNorm splits every vector of features into Groups parts of equal length. It shifts and scales each
// part to mean 0 (Wu and He 2018). A part of variance v gets variance v/(v + 1e-5). With Groups = 27, a
// part is three channels of [Scattering].
type GroupNorm struct {
	Of     Extractor
	Groups int
}

const groupFloor = 1e-5

func (g GroupNorm) Name() string { return fmt.Sprintf("groupnorm%d(%s)", g.Groups, g.Of.Name()) }

func (g GroupNorm) Dim(shape dataset.Shape) int {
	dim := g.Of.Dim(shape)
	if g.Groups < 1 || dim%g.Groups != 0 {
		return 0
	}
	return dim
}

func (g GroupNorm) Extract(dst, img []float32, shape dataset.Shape) { extractOne(g, dst, img, shape) }

func (g GroupNorm) ExtractBatch(dst, x blas32.General, shape dataset.Shape) {
	checkBatch(g, dst, x, shape)
	n := dst.Cols / g.Groups
	extractThen(g.Of, dst, x, shape, func(v []float32) {
		for ; len(v) > 0; v = v[n:] {
			group := v[:n]
			mean := kernel.Sum(group) / float64(n)
			kernel.Affine(group, group, mean, 1/math.Sqrt(kernel.SquaresAbout(group, mean)/float64(n)+groupFloor))
		}
	})
}

type colour struct{ Of Extractor }

const colourCells = 4

func (c colour) Name() string { return "colour(" + c.Of.Name() + ")" }

func (c colour) Dim(shape dataset.Shape) int {
	dim := c.Of.Dim(dataset.Shape{Rows: shape.Rows, Cols: shape.Cols})
	switch {
	case dim == 0 || shape.Planes() == 1:
		return dim
	case shape.Planes() != 3 || min(shape.Rows, shape.Cols) < colourCells:
		return 0
	}
	return dim + 3*colourCells*colourCells
}

func (c colour) Extract(dst, img []float32, shape dataset.Shape) {
	checkLengths(c, dst, img, shape)
	if shape.Planes() == 1 {
		c.Of.Extract(dst, img, shape)
		return
	}
	grey := dataset.Shape{Rows: shape.Rows, Cols: shape.Cols}
	n := grey.Pixels()
	luminance := make([]float32, n)
	for i := range luminance {
		luminance[i] = 0.299*img[i] + 0.587*img[n+i] + 0.114*img[2*n+i]
	}
	dim := c.Of.Dim(grey)
	c.Of.Extract(dst[:dim:dim], luminance, grey)
	for i := range dst[dim:] {
		plane, a, b := i/(colourCells*colourCells), i/colourCells%colourCells, i%colourCells
		dst[dim+i] = cellMean(img[plane*n:(plane+1)*n], grey, a, b)
	}
}

func cellMean(plane []float32, shape dataset.Shape, a, b int) float32 {
	var sum float32
	count := 0
	for i := a * shape.Rows / colourCells; i < (a+1)*shape.Rows/colourCells; i++ {
		for j := b * shape.Cols / colourCells; j < (b+1)*shape.Cols/colourCells; j++ {
			sum += plane[i*shape.Cols+j]
			count++
		}
	}
	return sum / float32(count)
}
