package features

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"gonum.org/v1/gonum/blas/blas32"
)

// HOG is the histogram of oriented gradients of Dalal and Triggs (2005). Every square cell of pixels has a
// histogram of gradient directions, weighted by gradient length. Square blocks of cells, one cell apart, are
// normalised separately.
//
// Directions are signed (a full turn), because a light stroke on dark differs from a dark stroke on light.
// Gradients are computed from the square roots of the pixels. A gradient is divided linearly between the two
// nearest directions and the four nearest cells. Gradients beyond the last whole cell are not used.
type HOG struct {
	Bins  int     // directions in a full turn, at least 2
	Cell  int     // side of a cell in pixels, at least 1
	Block int     // side of a block in cells, at least 1
	Clip  float64 // largest entry of a normalised block, in (0, 1]; the block is then normalised again
}

// StandardHOG has 16 directions, cells of 4x4 pixels, blocks of 2x2 cells and clip 0.2. A 28x28 image has 6x6
// blocks of norm at most 1, so its 2304 features in [0, 1] have norm at most 6.
func StandardHOG() HOG { return HOG{Bins: 16, Cell: 4, Block: 2, Clip: 0.2} }

const normFloor = 0.1

func (h HOG) Name() string {
	return fmt.Sprintf("hog(bins=%d,cell=%d,block=%d,clip=%g)", h.Bins, h.Cell, h.Block, h.Clip)
}

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

func (h HOG) Extract(dst, img []float32, shape dataset.Shape) { extractOne(h, dst, img, shape) }

func (h HOG) ExtractBatch(dst, x blas32.General, shape dataset.Shape) {
	checkBatch(h, dst, x, shape)
	g := h.newGrid(shape)
	for i := range x.Rows {
		g.extract(dense.Row(dst, i), dense.Row(x, i))
	}
}

type hogGrid struct {
	HOG
	shape                     dataset.Shape
	down, across              int // number of whole cells
	ys, xs                    []nearCells
	plain, root, length, turn []float32
	hist                      []float32
}

type nearCells struct {
	lower  int
	weight float32
}

func (h HOG) newGrid(shape dataset.Shape) *hogGrid {
	n := shape.Rows*(shape.Cols+2) + 2*slack
	g := &hogGrid{HOG: h, shape: shape, plain: make([]float32, shape.Pixels()),
		root: make([]float32, n), length: make([]float32, n), turn: make([]float32, n)}
	g.down, g.across = h.cells(shape)
	g.hist = make([]float32, (g.down+2)*(g.across+2)*h.Bins)
	g.ys, g.xs = h.nearCells(g.down*h.Cell), h.nearCells(g.across*h.Cell)
	return g
}

func (h HOG) nearCells(pixels int) []nearCells {
	near := make([]nearCells, pixels)
	for p := range near {
		whole, part := split((float64(p)+0.5)/float64(h.Cell) + 0.5)
		near[p] = nearCells{whole, float32(part)}
	}
	return near
}

func (g *hogGrid) extract(dst, img []float32) {
	g.accumulate(img)
	run := g.Block * g.Bins // adjacent cells of a block are contiguous
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

const slack = 8

func (g *hogGrid) gradients(img []float32) {
	kernel.SquareRoots(g.plain, img)
	rows, cols := g.shape.Rows, g.shape.Cols
	stride := cols + 2
	for y := range rows {
		line, padded := g.plain[y*cols:(y+1)*cols], g.root[slack+y*stride:]
		padded[0], padded[cols+1] = line[0], line[cols-1]
		copy(padded[1:], line)
	}
	perBin := float32(float64(g.Bins) / (2 * math.Pi))
	// Values computed beyond the end of a line are overwritten with the next lines.
	set := func(y, lines, up, down int) {
		from, n := y*stride, (lines*stride+slack-1)/slack*slack
		at := func(shift int) []float32 { return g.root[slack+from+shift:][:n] }
		kernel.Polar(g.length[from:][:n], g.turn[from:][:n], at(1), at(-1), at(down*stride), at(-up*stride), perBin)
	}
	set(0, 1, 0, min(rows-1, 1))
	if rows > 2 {
		set(1, rows-2, 1, 1)
	}
	if rows > 1 {
		set(rows-1, 1, 1, 0)
	}
}

func (g *hogGrid) accumulate(img []float32) {
	clear(g.hist)
	g.gradients(img)
	bins := g.Bins
	wide := (g.across + 2) * bins
	for y, cy := range g.ys {
		upper := g.hist[cy.lower*wide:][:wide]
		lower := g.hist[(cy.lower+1)*wide:][:wide]
		first := y*(g.shape.Cols+2) + 1
		lengths, turns := g.length[first:][:len(g.xs)], g.turn[first:][:len(g.xs)]
		for x, length := range lengths {
			if length == 0 {
				continue
			}
			turn := turns[x]
			bin := 0 // also for infinite pixels, where turn is NaN and features become NaN
			if turn >= 1 {
				bin = int(turn)
			}
			second := length * (turn - float32(bin))
			first := length - second
			if bin >= bins { // turn rounded up to a full turn
				bin -= bins
			}
			next := bin + 1
			if next == bins {
				next = 0
			}
			near := g.xs[x]
			above, below := upper[near.lower*bins:][:2*bins], lower[near.lower*bins:][:2*bins] // the left cell and the right cell
			w := (1 - cy.weight) * (1 - near.weight)
			above[bin] += w * first
			above[next] += w * second
			w = (1 - cy.weight) * near.weight
			above[bins+bin] += w * first
			above[bins+next] += w * second
			w = cy.weight * (1 - near.weight)
			below[bin] += w * first
			below[next] += w * second
			w = cy.weight * near.weight
			below[bins+bin] += w * first
			below[bins+next] += w * second
		}
	}
}

func normalizeBlock(block []float32, clip float32) {
	squares := kernel.SquaredNorm(block)
	if squares == 0 {
		return
	}
	kernel.ScaleUpTo(block, 1/float32(math.Sqrt(squares+normFloor*normFloor)), block, clip)
	kernel.Scale(block, 1/float32(math.Sqrt(kernel.SquaredNorm(block)+1e-12)), block)
}
