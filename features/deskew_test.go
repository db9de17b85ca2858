package features

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pate-go/pate/dataset"
)

// slantedBar is a blurred upright bar in the middle, sheared by slant columns per
// row and shifted.
func slantedBar(shape dataset.Shape, slant, dx, dy float64) []float32 {
	img := make([]float32, shape.Pixels())
	for y := range shape.Rows {
		fy := float64(y) - float64(shape.Rows/2) - dy
		for x := range shape.Cols {
			fx := float64(x) - float64(shape.Cols/2) - dx - slant*fy
			img[y*shape.Cols+x] = float32(math.Exp(-fx*fx/4 - math.Pow(fy/6, 4)))
		}
	}
	return img
}

func TestDeskewStraightensAndCentres(t *testing.T) {
	for _, shape := range []dataset.Shape{{Rows: 28, Cols: 28}, {Rows: 33, Cols: 40}} {
		for _, slant := range []float64{-0.6, -0.2, 0, 0.3, 0.7} {
			img := slantedBar(shape, slant, 1.3, -0.8)
			before := measure(img, shape)
			assert.InDelta(t, slant, before.mu11/before.mu02, 0.02, "the test image is slanted as it should be")
			out := make([]float32, len(img))
			Deskew{}.Extract(out, img, shape)
			after := measure(out, shape)
			assert.InDelta(t, 0, after.mu11/after.mu02, 0.01, "slant %g", slant)
			assert.InDelta(t, float64(shape.Cols/2), after.cx, 0.05)
			assert.InDelta(t, float64(shape.Rows/2), after.cy, 0.05)
			assert.InDelta(t, before.mass, after.mass, 0.01*before.mass)
		}
	}
}

func TestDeskewOfAnUprightCentredImageIsTheImage(t *testing.T) {
	shape := dataset.Shape{Rows: 5, Cols: 5}
	img := make([]float32, 25)
	for _, i := range []int{7, 12, 17} { // the middle column around the middle
		img[i] = 1
	}
	out := make([]float32, 25)
	Deskew{}.Extract(out, img, shape)
	assert.Equal(t, img, out)
}

func TestDeskewCopiesWhatHasNoSlant(t *testing.T) {
	shape := dataset.Shape{Rows: 4, Cols: 4}
	line := []float32{0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	for _, img := range [][]float32{make([]float32, 16), line} {
		out := make([]float32, 16)
		Deskew{}.Extract(out, img, shape)
		assert.Equal(t, img, out)
	}
}
