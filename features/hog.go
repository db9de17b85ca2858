package features

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"gonum.org/v1/gonum/blas/blas32"
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
	h.newGrid(shape).extract(dst, img)
}

// ExtractBatch implements [Batcher].
func (h HOG) ExtractBatch(dst, x blas32.General, shape dataset.Shape) {
	checkBatch(h, dst, x, shape)
	g := h.newGrid(shape)
	for i := range x.Rows {
		g.extract(dense.Row(dst, i), dense.Row(x, i))
	}
}

// hogGrid is the working memory for images of one shape.
type hogGrid struct {
	HOG
	shape        dataset.Shape
	down, across int // whole cells
	ys, xs       []nearCells
	root         []float32 // square roots of the pixels
	// hist is the histograms of the cells, with one cell of margin on every side: what falls
	// to a cell outside the image goes there, which no block reads.
	hist []float32
}

// nearCells says between the centres of which two cells a pixel lies, along one dimension:
// the lower one, in coordinates with one cell of margin, and the weight of the upper one.
type nearCells struct {
	lower  int
	weight float32
}

func (h HOG) newGrid(shape dataset.Shape) *hogGrid {
	g := &hogGrid{HOG: h, shape: shape, root: make([]float32, shape.Pixels())}
	g.down, g.across = h.cells(shape)
	g.hist = make([]float32, (g.down+2)*(g.across+2)*h.Bins)
	g.ys, g.xs = h.nearCells(g.down*h.Cell), h.nearCells(g.across*h.Cell)
	return g
}

// nearCells returns those of the first pixels of a line.
func (h HOG) nearCells(pixels int) []nearCells {
	near := make([]nearCells, pixels)
	for p := range near {
		whole, part := split((float64(p)+0.5)/float64(h.Cell) + 0.5)
		near[p] = nearCells{whole, float32(part)}
	}
	return near
}

// extract fills dst with the features of an image.
func (g *hogGrid) extract(dst, img []float32) {
	g.accumulate(img)
	run := g.Block * g.Bins // cells of a block that lie side by side are contiguous
	at := 0
	for by := range g.down - g.Block + 1 {
		for bx := range g.across - g.Block + 1 {
			block := dst[at : at+g.Block*run]
			at += len(block)
			for i := range g.Block {
				from := ((by+1+i)*(g.across+2) + bx + 1) * g.Bins
				copy(block[i*run:(i+1)*run], g.hist[from:from+run])
			}
			normalizeBlock(block, float32(g.Clip))
		}
	}
}

// accumulate fills the histograms of the cells.
func (g *hogGrid) accumulate(img []float32) {
	clear(g.hist)
	for i, v := range img {
		g.root[i] = 0
		if v > 0 {
			g.root[i] = float32(math.Sqrt(float64(v)))
		}
	}
	cols, bins := g.shape.Cols, g.Bins
	wide := (g.across + 2) * bins
	perBin := float32(float64(bins) / (2 * math.Pi))
	for y, cy := range g.ys {
		above := g.root[max(y-1, 0)*cols:][:cols]
		here := g.root[y*cols:][:cols]
		below := g.root[min(y+1, g.shape.Rows-1)*cols:][:cols]
		upper := g.hist[cy.lower*wide:][:wide]
		lower := g.hist[(cy.lower+1)*wide:][:wide]
		for x, cx := range g.xs {
			gx := here[min(x+1, cols-1)] - here[max(x-1, 0)]
			gy := below[x] - above[x]
			if gx == 0 && gy == 0 {
				continue
			}
			length := float32(math.Sqrt(float64(gx*gx + gy*gy)))
			turn := direction(gy, gx) * perBin
			bin := 0 // also between infinite pixels, where turn is NaN and tells
			if turn >= 1 {
				bin = int(turn)
			}
			second := length * (turn - float32(bin))
			first := length - second
			if bin >= bins { // rounding at a full turn
				bin -= bins
			}
			next := bin + 1
			if next == bins {
				next = 0
			}
			down, right := cy.weight, cx.weight
			for i, cells := range [2][]float32{upper, lower} {
				weight := down
				if i == 0 {
					weight = 1 - down
				}
				pair := cells[cx.lower*bins:][:2*bins] // the left cell and the right one
				w := weight * (1 - right)
				pair[bin] += w * first
				pair[next] += w * second
				w = weight * right
				pair[bins+bin] += w * first
				pair[bins+next] += w * second
			}
		}
	}
}

// direction returns the angle of a vector that is not zero, in [0, 2 pi] up to rounding,
// with an error below 1e-6 (a test goes around the circle). It brings the vector into the first eighth of
// the circle, or the same to the left of its bisector, and takes the arctangent there as a
// polynomial (Cephes, atanf).
func direction(y, x float32) float32 {
	ax, ay := abs(x), abs(y)
	short, long := ax, ay
	if ay < ax {
		short, long = ay, ax
	}
	t, angle := short, float32(0)
	if short > 0.41421357*long {
		t, long, angle = short-long, short+long, math.Pi/4
	}
	t /= long
	z := t * t
	angle += t + t*z*(((8.05374449538e-2*z-1.38776856032e-1)*z+1.99777106478e-1)*z-3.33329491539e-1)
	if ay > ax {
		angle = math.Pi/2 - angle
	}
	if x < 0 {
		angle = math.Pi - angle
	}
	if y < 0 {
		angle = 2*math.Pi - angle
	}
	return angle
}

func abs(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1 << 31)) }

// normalizeBlock divides by the norm, clips, and divides by the norm again
// ("L2-Hys").
func normalizeBlock(block []float32, clip float32) {
	squares := kernel.SquaredNorm(block)
	if squares == 0 {
		return
	}
	scale := 1 / float32(math.Sqrt(squares+normFloor*normFloor))
	for i, v := range block {
		v *= scale
		if v > clip {
			v = clip
		}
		block[i] = v
	}
	kernel.Scale(block, 1/float32(math.Sqrt(kernel.SquaredNorm(block)+1e-12)), block)
}
