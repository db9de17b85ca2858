package features

import (
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
)

const together = 2 * lanes

type scatteringMemory struct {
	image, imageRows       grid // the pixels of all images, and their transform along rows
	spectrum               grid // spectrum of the images
	order0                 grid
	fine, coarse           scratch
	moduli                 grid // spectrum of two fine moduli
	foldedRows, foldedCols grid // intermediate results
	pixels                 []float32
}

type scratch struct {
	band    []grid // filtered spectra as complex signals: both angles of the first signal, then of the second
	apart   int    // distance in band from the first to the second signal
	half    grid   // the band transformed back along rows
	moduli  grid   // moduli of two signals: sums of mirrored columns, then differences
	average grid   // moduli averaged along columns
	out     grid   // moduli averaged along columns and rows
}

func newScratch(rows, cols, outRows, outCols int) scratch {
	band, apart := newGrids(4, rows, cols)
	return scratch{
		band: band, apart: 2 * apart,
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
		pixels: make([]float32, r.in*c.in*together),
	}
}

func (p *scatteringPlan) run(s *scatteringMemory, dst, x blas32.General) {
	p.load(s.image, s.pixels, x)
	p.row.average.alongRows(s.imageRows, s.image)
	p.col.average.alongCols(s.order0, s.imageRows, p.outRows)
	p.row.analyse.alongRows(s.imageRows, s.image)
	p.col.analyse.alongCols(s.spectrum, s.imageRows, p.row.n)

	var signals []signal // each signal holds lanes images
	for from := 0; from < x.Rows; from += lanes {
		some := signal{dense.Rows(dst, from, min(from+lanes, x.Rows)), 1 + angles}
		p.collect(some.dst, 0, s.order0, from)
		signals = append(signals, some)
	}
	p.coarseAverages(signals, s.coarse, s.spectrum.data)
	for turn, pair := range anglePairs {
		p.filter(s.fine, p.fine[turn], s.spectrum.data, len(signals))
		for i, some := range signals {
			p.moduli(s.fine, i, len(p.fine[turn]) == 1, p.row.fine, p.col.fine)
			p.averages(s.fine, p.row.fine, p.col.fine)
			p.collectTurn(some.dst, 1, turn, s.fine.out)
			p.analyse(s)
			var filtered [sides]signal
			for side, angle := range pair {
				filtered[side] = signal{some.dst, 1 + 2*angles + angle*angles}
			}
			p.coarseAverages(filtered[:], s.coarse, s.moduli.data)
		}
	}
}

type signal struct {
	dst     blas32.General
	channel int
}

const sides = 2

func (p *scatteringPlan) load(image grid, pixels []float32, x blas32.General) {
	if x.Rows < together {
		clear(pixels)
	}
	kernel.Transpose(pixels, together, x.Data, x.Stride, x.Rows, x.Cols)
	for i := range len(pixels) / together {
		copy(image.at(i/image.cols, i%image.cols)[:together], pixels[i*together:])
	}
}

func (p *scatteringPlan) coarseAverages(signals []signal, s scratch, spectrum []float32) {
	for turn, filters := range p.coarse {
		p.filter(s, filters, spectrum, len(signals))
		for i, one := range signals {
			p.moduli(s, i, len(filters) == 1, p.row.coarse, p.col.coarse)
			p.averages(s, p.row.coarse, p.col.coarse)
			p.collectTurn(one.dst, one.channel, turn, s.out)
		}
	}
}

func (p *scatteringPlan) filter(s scratch, filters []*kernel.Groups, spectrum []float32, signals int) {
	for i, f := range filters {
		sum, difference := s.band[i].data, s.band[1].data
		if len(filters) > 1 {
			difference = sum
		}
		for signal := range signals {
			at := signal * s.apart
			f.Mul(sum[at:], difference[at:], spectrum[signal*lanes:])
		}
	}
}

func (p *scatteringPlan) moduli(s scratch, signal int, mirrored bool, row, col folded) {
	inverse := [sides]kernel.Quarters{col.inverse, col.inverse}
	if mirrored {
		inverse[1] = col.mirrored
	}
	h, w := row.n/2+1, col.n/2+1
	for side := range sides {
		band := s.band[sides*signal+side]
		row.inverse.MulStrips(s.half.data, s.half.down(0, 1), s.half.down(row.n, -1),
			band.data, band.down(0, 1), band.down(h, 1), col.n)
		sums, differences := s.moduli.across(0, 1), s.moduli.across(w, 1)
		sums.At, differences.At = sums.At+side*lanes, differences.At+side*lanes
		inverse[side].Moduli(s.moduli.data, sums, differences, s.half.data, s.half.across(0, 1), s.half.across(w, 1), row.n)
	}
}

func (p *scatteringPlan) averages(s scratch, row, col folded) {
	out := p.outCols
	col.average.MulStrips(s.average.data, s.average.across(out/2, 1), s.average.across((out-1)/2, -1),
		s.moduli.data, s.moduli.across(0, 1), s.moduli.across(col.n/2+1, 1), row.n)
	row.lowPass.alongRows(s.out, s.average)
}

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

func (p *scatteringPlan) collectTurn(dst blas32.General, channel, turn int, from grid) {
	for side, angle := range anglePairs[turn] {
		p.collect(dst, channel+angle, from, side*lanes)
	}
}

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

const lanes = 8

const point = 2 * lanes

type grid struct {
	data       []float32
	rows, cols int
	row        int // distance between consecutive rows
}

func newGrid(rows, cols int) grid {
	g := grid{rows: rows, cols: cols, row: (cols | 1) * point}
	g.data = make([]float32, rows*g.row+point)
	return g
}

func newGrids(n, rows, cols int) (all []grid, apart int) {
	g := newGrid(rows, cols)
	apart = len(g.data)
	data := make([]float32, n*apart)
	for i := range n {
		g.data = data[i*apart:]
		all = append(all, g)
	}
	return all, apart
}

func (g grid) point(row, col int) int { return row*g.row + col*point }

func (g grid) at(row, col int) []float32 { return g.data[g.point(row, col):] }

func (g grid) across(col, step int) kernel.Strips {
	return kernel.Strips{At: g.point(0, col), Row: step * point, Step: g.row}
}

func (g grid) down(row, step int) kernel.Strips {
	return kernel.Strips{At: g.point(row, 0), Row: step * g.row, Step: point}
}

type matrix struct {
	m, n int
	v    []float32
}

func newMatrix(m, n int, at func(i, j int) float64) matrix {
	out := matrix{m: m, n: n, v: make([]float32, m*n)}
	for i := range m {
		for j := range n {
			out.v[i*n+j] = float32(at(i, j))
		}
	}
	return out
}

func (m matrix) alongRows(dst, src grid) {
	kernel.MulAB(dst.data, dst.row, m.v, m.n, src.data, src.row, m.m, src.cols*point, m.n)
}

func (m matrix) alongCols(dst, src grid, rows int) {
	for r := range rows {
		kernel.MulAB(dst.at(r, 0), point, m.v, m.n, src.at(r, 0), point, m.m, point, m.n)
	}
}
