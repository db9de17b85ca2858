package features

import (
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"gonum.org/v1/gonum/blas/blas32"
)

// lanes is the number of images that lie side by side: the width of a tile of
// the product kernels.
const lanes = 16

// together is how many signals of order one are filtered again at a time: few
// enough for the second-level cache.
const together = 2

// scatteringMemory is the working memory of one goroutine.
type scatteringMemory struct {
	image, spectrum     tensor
	imageWide, imageLow tensor
	gathered            []float32
	fine                scratch // of the image at full resolution
	coarse              scratch // at half resolution
	again               scratch // of moduli at half resolution
	moduli              tensor  // spectra of the moduli of order one
	order0, order1      tensor
	coarse1, order2     tensor
}

// scratch is the memory of one inverse transform and of what its moduli become.
type scratch struct {
	band    tensor // filtered spectra: real and imaginary parts
	half    tensor // brought back along columns
	column  tensor // brought back, one column
	modulus tensor // of that column
	out     tensor // moduli transformed along rows
}

func newScratch(rows, cols, out, width int) scratch {
	return scratch{
		band: newTensor(2, cols, 2*width), half: newTensor(rows, cols, 2*width),
		column: newTensor(1, rows, 2*width), modulus: newTensor(1, rows, width),
		out: newTensor(out, cols, width),
	}
}

func newScatteringMemory(p *scatteringPlan) *scatteringMemory {
	const one, first, second = lanes, angles * lanes, angles * together * lanes
	r, c := p.row, p.col
	return &scatteringMemory{
		image:     newTensor(r.in, c.in, one),
		imageWide: newTensor(r.in, c.n, one),
		imageLow:  newTensor(r.in, c.out, one),
		spectrum:  newTensor(r.n, c.n, one),
		gathered:  make([]float32, 16*max(one, together*lanes)),
		fine:      newScratch(r.n, c.n, r.n+r.out, first),
		coarse:    newScratch(r.half, c.half, r.out, first),
		again:     newScratch(r.half, c.half, r.out, second),
		moduli:    newTensor(r.n, c.n, first),
		order0:    newTensor(r.out, c.out, one),
		order1:    newTensor(r.out, c.out, first),
		coarse1:   newTensor(r.out, c.out, first),
		order2:    newTensor(r.out, c.out, second),
	}
}

// run computes the features of at most lanes images.
func (p *scatteringPlan) run(s *scatteringMemory, dst, x blas32.General) {
	clear(s.image.data)
	for lane := range x.Rows {
		img := dense.Row(x, lane)
		for r := range p.row.in {
			to := s.image.at(r, 0)
			for c, v := range img[r*p.col.in : (r+1)*p.col.in] {
				to[c*s.image.point+lane] = v
			}
		}
	}
	for r := range p.row.in {
		p.col.analyse.alongCols(s.imageWide, r, s.image, r)
		p.col.average.alongCols(s.imageLow, r, s.image, r)
	}
	p.row.analyse.alongRows(s.spectrum, s.imageWide)
	p.row.average.alongRows(s.order0, s.imageLow)
	p.collect(dst, 0, s.order0, 0)

	p.fine.moduli(s.fine, s.spectrum, 0, lanes, p.row.inverse, p.col.inverse, p.row.forward, s.gathered)
	for r := range p.row.n {
		p.col.analysis().alongCols(s.moduli, r, s.fine.out, r)
	}
	for r := range p.outRows {
		p.col.lowPass().alongCols(s.order1, r, s.fine.out, p.row.n+r)
	}
	p.coarseAverages(s.coarse1, s.coarse, s.spectrum, 0, lanes, s.gathered)
	for a := range angles {
		p.collect(dst, 1+a, s.order1, a)
		p.collect(dst, 1+angles+a, s.coarse1, a)
	}
	for from := 0; from < angles; from += together {
		p.coarseAverages(s.order2, s.again, s.moduli, from*lanes, together*lanes, s.gathered)
		for a := range together {
			for b := range angles {
				p.collect(dst, 1+2*angles+(from+a)*angles+b, s.order2, b*together+a)
			}
		}
	}
}

// moduli filters n numbers a point of spectra and leaves the moduli,
// transformed along rows by after, in s.out.
func (b bank) moduli(s scratch, src tensor, from, n int, rowInverse, colInverse, after matrix, gathered []float32) {
	for _, band := range b {
		band.apply(s.band, src, from, n, gathered)
		for i, r := range band.rows {
			colInverse.alongCols(s.half, r, s.band, i)
		}
	}
	// From here on columns are independent, and one of them fits the caches.
	for c := range s.half.cols {
		kernel.MulAB(s.column.data, s.column.point, rowInverse.v, rowInverse.n, s.half.at(0, c), s.half.row, rowInverse.m, s.half.width, rowInverse.n)
		moduli(s.modulus, s.column)
		kernel.MulAB(s.out.at(0, c), s.out.row, after.v, after.n, s.modulus.data, s.modulus.point, after.m, s.modulus.width, after.n)
	}
}

// coarseAverages sets dst to the averages of the moduli at the coarse scale.
func (p *scatteringPlan) coarseAverages(dst tensor, s scratch, src tensor, from, n int, gathered []float32) {
	p.coarse.moduli(s, src, from, n, p.row.halfInverse, p.col.halfInverse, p.row.halfAverage, gathered)
	for r := range p.outRows {
		p.col.halfAverage.alongCols(dst, r, s.out, r)
	}
}

// moduli takes points of real parts, each with the imaginary parts behind it.
func moduli(dst, src tensor) {
	for i := range dst.cols {
		out := dst.at(0, i)[:dst.width]
		both := src.at(0, i)
		kernel.Moduli(out, both[:len(out)], both[len(out):2*len(out)])
	}
}

// collect writes a signal as a channel of every image.
func (p *scatteringPlan) collect(dst blas32.General, channel int, from tensor, signal int) {
	positions := p.outRows * p.outCols
	for lane := range dst.Rows {
		to := dense.Row(dst, lane)[channel*positions:]
		for r := range p.outRows {
			src := from.at(r, 0)[signal*lanes+lane:]
			for i := range p.outCols {
				to[r*p.outCols+i] = src[i*from.point]
			}
		}
	}
}
