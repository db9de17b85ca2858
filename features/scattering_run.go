package features

import (
	"github.com/pate-go/pate/internal/kernel"
	"gonum.org/v1/gonum/blas/blas32"
)

// scatteringMemory is the working memory of one goroutine.
type scatteringMemory struct {
	image, imageRows       grid // the pixels, and transformed along rows
	spectrum               grid // of the image
	order0                 grid
	fine, coarse           scratch
	moduli                 grid // spectrum of two fine moduli
	foldedRows, foldedCols grid // on the way there
	pixels                 []float32
}

// scratch is the memory of filtered signals on their way to moduli and averages.
type scratch struct {
	band    [3]grid // filtered spectra: complex signals, and what nobody reads
	half    grid    // brought back along rows
	moduli  grid    // of two signals: sums of points on either side of the centre column, and differences
	average grid    // of moduli, along columns
	out     grid    // and along rows
}

// newScratch makes room for signals of so many points. The rows of half in front of the centre
// row come from the end; the centre row, which is its own mirror image, is there twice.
func newScratch(rows, cols, outRows, outCols int) scratch {
	return scratch{
		band: [3]grid{newGrid(rows, cols), newGrid(rows, cols), newGrid(rows, cols)},
		half: newGrid(rows+1, cols), moduli: newGrid(rows, 2*(cols/2+1)),
		average: newGrid(rows, outCols), out: newGrid(outRows, outCols),
	}
}

func newScatteringMemory(p *scatteringPlan) *scatteringMemory {
	r, c := p.row, p.col
	return &scatteringMemory{
		image: newGrid(r.in, c.in), imageRows: newGrid(r.n, c.in), spectrum: newGrid(r.n, c.n), order0: newGrid(r.out, c.out),
		fine: newScratch(r.n, c.n, r.out, c.out), coarse: newScratch(r.half, c.half, r.out, c.out),
		foldedCols: newGrid(r.n, c.n), foldedRows: newGrid(2*(r.half+1), c.n), moduli: newGrid(r.n, c.n),
		pixels: make([]float32, r.in*c.in*lanes),
	}
}

// run computes the features of at most lanes images.
func (p *scatteringPlan) run(s *scatteringMemory, dst, x blas32.General) {
	p.load(s.image, s.pixels, x)
	p.row.average.alongRows(s.imageRows, 0, s.image, 0)
	p.col.average.alongCols(s.order0, 0, s.imageRows, 0, p.outRows)
	p.collect(dst, 0, s.order0, 0)
	p.row.analyse.alongRows(s.imageRows, 0, s.image, 0)
	p.col.analyse.alongCols(s.spectrum, 0, s.imageRows, 0, p.row.n)

	for turn, pair := range turns {
		p.moduli(s.fine, p.fine, turn, p.row.fine, p.col.fine, s.spectrum.data)
		p.averages(s.fine, p.row.fine, p.col.fine)
		p.collectTurn(dst, 1, turn, s.fine.out)
		p.coarseAverages(dst, 1+angles, s.coarse, turn, s.spectrum.data)
		p.analyse(s)
		for side, angle := range pair {
			for again := range turns {
				p.coarseAverages(dst, 1+2*angles+angle*angles, s.coarse, again, s.moduli.data[side*lanes:])
			}
		}
	}
}

// load sets the first lanes of every point to the pixels of an image each.
func (p *scatteringPlan) load(image grid, pixels []float32, x blas32.General) {
	if x.Rows < lanes {
		clear(pixels)
	}
	kernel.Transpose(pixels, lanes, x.Data, x.Stride, x.Rows, x.Cols)
	for i := range len(pixels) / lanes {
		copy(image.at(i/image.cols, i%image.cols)[:lanes], pixels[i*lanes:])
	}
}

// coarseAverages collects the averages of the coarse moduli of a signal, of a pair of angles.
func (p *scatteringPlan) coarseAverages(dst blas32.General, channel int, s scratch, turn int, spectrum []float32) {
	p.moduli(s, p.coarse, turn, p.row.coarse, p.col.coarse, spectrum)
	p.averages(s, p.row.coarse, p.col.coarse)
	p.collectTurn(dst, channel, turn, s.out)
}

// moduli filters a signal at a pair of angles and leaves the moduli, folded along columns.
func (p *scatteringPlan) moduli(s scratch, b bank, turn int, row, col folded, spectrum []float32) {
	inverse := [2]kernel.Quarters{col.inverse, col.inverse}
	if filters := b[turn]; len(filters) == 1 {
		filters[0].Mul(s.band[0].data, s.band[1].data, spectrum)
		inverse[1] = col.mirrored
	} else {
		filters[0].Mul(s.band[0].data, s.band[2].data, spectrum)
		filters[1].Mul(s.band[1].data, s.band[2].data, spectrum)
	}
	h, w := row.n/2+1, col.n/2+1
	for side := range 2 {
		band := s.band[side]
		row.inverse.MulStrips(s.half.data, s.half.down(0, 1), s.half.down(row.n, -1), band.data, band.down(0, 1), band.down(h, 1), col.n)
		sums, differences := s.moduli.across(0, 1), s.moduli.across(w, 1)
		sums.At, differences.At = sums.At+side*lanes, differences.At+side*lanes
		inverse[side].Moduli(s.moduli.data, sums, differences, s.half.data, s.half.across(0, 1), s.half.across(w, 1), row.n)
	}
}

// averages makes averages of what moduli left.
func (p *scatteringPlan) averages(s scratch, row, col folded) {
	out := p.outCols
	col.average.MulStrips(s.average.data, s.average.across(out/2, 1), s.average.across((out-1)/2, -1),
		s.moduli.data, s.moduli.across(0, 1), s.moduli.across(col.n/2+1, 1), row.n)
	row.lowPass.alongRows(s.out, 0, s.average, 0)
}

// analyse makes the spectrum of the two fine moduli.
func (p *scatteringPlan) analyse(s *scatteringMemory) {
	row, col := p.row.fine, p.col.fine
	h, w := row.n/2+1, col.n/2+1
	from, to := s.fine.moduli, s.foldedCols
	col.cosine.MulStrips(to.data, to.across(0, 1), from.data, from.across(0, 1), row.n)
	col.sine.MulStrips(to.data, to.across(w, 1), from.data, from.across(w+1, 1), row.n)
	for i := range h {
		n := col.n * point
		kernel.Butterfly(s.foldedRows.at(i, 0)[:n], s.foldedRows.at(h+i, 0)[:n], s.foldedCols.at(i, 0)[:n], s.foldedCols.at((row.n-i)%row.n, 0)[:n])
	}
	from, to = s.foldedRows, s.moduli
	row.cosine.MulStrips(to.data, to.down(0, 1), from.data, from.down(0, 1), col.n)
	row.sine.MulStrips(to.data, to.down(h, 1), from.data, from.down(h+1, 1), col.n)
}

// collectTurn writes two signals as the channels of a pair of angles, of which the first is given.
func (p *scatteringPlan) collectTurn(dst blas32.General, channel, turn int, from grid) {
	for side, angle := range turns[turn] {
		p.collect(dst, channel+angle, from, side*lanes)
	}
}

// collect writes the signal in some lanes as a channel of every image: all of its points at once
// if rows follow each other in the grid.
func (p *scatteringPlan) collect(dst blas32.General, channel int, from grid, lane int) {
	rows, points := p.outRows, p.outCols
	if from.row == points*point {
		rows, points = 1, rows*points
	}
	for r := range rows {
		at := channel*p.outRows*p.outCols + r*points
		kernel.Transpose(dst.Data[at:], dst.Stride, from.at(r, 0)[lane:], point, points, dst.Rows)
	}
}
