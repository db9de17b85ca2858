package features

import (
	"github.com/pate-go/pate/dataset"
)

// colour is what another extractor makes of the luminance of a colour image, and behind it
// the mean of each plane in a grid of cells. Of a grey image it is the other alone.
type colour struct{ Of Extractor }

// colourCells is the number of cells of a side.
const colourCells = 4

func (c colour) Name() string { return "colour(" + c.Of.Name() + ")" }

// Dim returns that of Of on grey images, and for colour the cells of three planes more.
func (c colour) Dim(shape dataset.Shape) int {
	grey := dataset.Shape{Rows: shape.Rows, Cols: shape.Cols}
	dim := c.Of.Dim(grey)
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
	cells := dst[dim:]
	for plane := range 3 {
		for a := range colourCells {
			for b := range colourCells {
				cells[(plane*colourCells+a)*colourCells+b] = cellMean(img[plane*n:(plane+1)*n], grey, a, b)
			}
		}
	}
}

// cellMean returns the mean of one cell of a plane.
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
