package features

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/dataset"
)

// HOG is the histogram of oriented gradients of Dalal and Triggs (2005): square
// cells of pixels, each with a histogram of gradient directions weighted by
// gradient length; square blocks of cells, overlapping by all but one cell, each
// normalised by itself.
//
// Directions are signed (a full turn), since light on dark and dark on light are
// different strokes. Gradients are those of the square root of the pixel values.
// A gradient is shared linearly between the two nearest directions and the four
// nearest cells. Pixels right and below the last whole cell are not used.
type HOG struct {
	Bins  int     // directions in a full turn, >= 2
	Cell  int     // side of a cell in pixels, >= 1
	Block int     // side of a block in cells, >= 1
	Clip  float64 // no entry of a normalised block is larger before it is normalised again, in (0, 1]
}

// StandardHOG has 16 directions, cells of 4x4 pixels, blocks of 2x2 cells and
// clip 0.2: for a 28x28 image 6x6 blocks of 64, 2304 features in [0, 1]. The norm
// of a block is at most 1, so that of the vector is at most 6.
func StandardHOG() HOG { return HOG{Bins: 16, Cell: 4, Block: 2, Clip: 0.2} }

// normFloor is added (squared) to the squared norm of a block, so that an empty
// block stays empty instead of showing noise.
const normFloor = 0.1

func (h HOG) Name() string {
	return fmt.Sprintf("hog(bins=%d,cell=%d,block=%d,clip=%g)", h.Bins, h.Cell, h.Block, h.Clip)
}

// cells returns how many whole cells fit; 0, 0 if parameters are out of range.
func (h HOG) cells(shape dataset.Shape) (down, across int) {
	if h.Bins < 2 || h.Cell < 1 || h.Block < 1 || !(h.Clip > 0 && h.Clip <= 1) {
		return 0, 0
	}
	return shape.Rows / h.Cell, shape.Cols / h.Cell
}

func (h HOG) Dim(shape dataset.Shape) int {
	down, across := h.cells(shape)
	if down < h.Block || across < h.Block || h.Block < 1 {
		return 0
	}
	return (down - h.Block + 1) * (across - h.Block + 1) * h.Block * h.Block * h.Bins
}

func (h HOG) Extract(dst, img []float32, shape dataset.Shape) {
	checkLengths(h, dst, img, shape)
	down, across := h.cells(shape)
	hist := make([]float32, (down+2)*(across+2)*h.Bins) // one cell of margin on every side
	h.accumulate(hist, img, shape, down, across)
	run := h.Block * h.Bins // cells of a block that lie side by side are contiguous
	at := 0
	for by := range down - h.Block + 1 {
		for bx := range across - h.Block + 1 {
			block := dst[at : at+h.Block*run]
			at += len(block)
			for i := range h.Block {
				from := ((by+1+i)*(across+2) + bx + 1) * h.Bins
				copy(block[i*run:(i+1)*run], hist[from:from+run])
			}
			normalizeBlock(block, float32(h.Clip))
		}
	}
}

// accumulate fills the histograms of the cells. What falls to a cell outside the
// image goes to the margin, which no block reads.
func (h HOG) accumulate(hist, img []float32, shape dataset.Shape, down, across int) {
	rows, cols := down*h.Cell, across*h.Cell
	root := make([]float32, len(img))
	for i, v := range img {
		if v > 0 {
			root[i] = float32(math.Sqrt(float64(v)))
		}
	}
	perBin := float64(h.Bins) / (2 * math.Pi)
	wide := (across + 2) * h.Bins
	for y := range rows {
		above := root[max(y-1, 0)*shape.Cols:]
		here := root[y*shape.Cols:]
		below := root[min(y+1, shape.Rows-1)*shape.Cols:]
		cy, fy := h.nearestCells(y)
		for x := range cols {
			gx := here[min(x+1, shape.Cols-1)] - here[max(x-1, 0)]
			gy := below[x] - above[x]
			if gx == 0 && gy == 0 {
				continue
			}
			length := float32(math.Sqrt(float64(gx*gx + gy*gy)))
			turn := math.Atan2(float64(gy), float64(gx)) * perBin
			bin, part := split(turn)
			if math.IsNaN(turn) { // between infinite pixels; part is NaN and tells
				bin = 0
			}
			if bin < 0 {
				bin += h.Bins
			}
			if bin >= h.Bins { // rounding at a full turn
				bin -= h.Bins
			}
			next := bin + 1
			if next == h.Bins {
				next = 0
			}
			second := length * float32(part)
			first := length - second
			cx, fx := h.nearestCells(x)
			corner := (cy*(across+2) + cx) * h.Bins
			for _, c := range [4]struct {
				at     int
				weight float32
			}{
				{corner, (1 - fy) * (1 - fx)}, {corner + h.Bins, (1 - fy) * fx},
				{corner + wide, fy * (1 - fx)}, {corner + wide + h.Bins, fy * fx},
			} {
				hist[c.at+bin] += c.weight * first
				hist[c.at+next] += c.weight * second
			}
		}
	}
}

// nearestCells returns the lower of the two cells whose centres enclose pixel p, in
// coordinates with one cell of margin, and the weight of the upper one.
func (h HOG) nearestCells(p int) (lower int, upperWeight float32) {
	whole, part := split((float64(p)+0.5)/float64(h.Cell) + 0.5)
	return whole, float32(part)
}

// normalizeBlock divides by the norm, clips, and divides by the norm again
// ("L2-Hys").
func normalizeBlock(block []float32, clip float32) {
	scale := 1 / float32(math.Sqrt(sumSquares(block)+normFloor*normFloor))
	for i, v := range block {
		block[i] = min(v*scale, clip)
	}
	scale = 1 / float32(math.Sqrt(sumSquares(block)+1e-12))
	for i := range block {
		block[i] *= scale
	}
}

func sumSquares(v []float32) float64 {
	var a, b float32
	i := 0
	for ; i+1 < len(v); i += 2 {
		a += v[i] * v[i]
		b += v[i+1] * v[i+1]
	}
	if i < len(v) {
		a += v[i] * v[i]
	}
	return float64(a) + float64(b)
}
