package features

import (
	"math"

	"github.com/pate-go/pate/experiments/dataset"
	"github.com/pate-go/pate/internal/kernel"
	"gonum.org/v1/gonum/blas/blas32"
)

// lanes is the number of images that lie side by side: the width of a tile of
// the product kernels.
const lanes = 16

// tensor holds signals at points of a grid, [row][column][signal][lane], so a
// transform along rows or columns is a matrix times something many columns wide.
type tensor struct {
	data       []float32
	cols       int
	width      int // signals times lanes
	point, row int // from a point to the next, from a row to the next
}

func newTensor(rows, cols, width int) tensor {
	t := tensor{cols: cols, width: width, point: spread(width)}
	t.row = spread(cols * t.point)
	t.data = make([]float32, rows*t.row)
	return t
}

// spread avoids distances at which many points would share a few sets of the
// first-level cache, which makes products two times slower.
func spread(distance int) int {
	if distance%256 == 0 {
		return distance + 16
	}
	return distance
}

// at is what begins with the given point.
func (t tensor) at(row, col int) []float32 { return t.data[row*t.row+col*t.point:] }

// matrix is a small dense matrix by which a dimension is transformed.
type matrix struct {
	m, n int
	v    []float32
}

func newMatrix(m, n int, v []float64) matrix {
	out := matrix{m: m, n: n, v: make([]float32, m*n)}
	for i, x := range v {
		out.v[i] = float32(x)
	}
	return out
}

// times is the product a b, computed in double precision.
func times(a, b []float64, m, n, k int) []float64 {
	out := make([]float64, m*n)
	kernel.MulAB(out, n, a, k, b, n, m, n, k)
	return out
}

func transposed(a []float64, m, n int) []float64 {
	out := make([]float64, m*n)
	for i := range m {
		for j := range n {
			out[j*m+i] = a[i*n+j]
		}
	}
	return out
}

// axis is the transforms along one dimension of the image.
type axis struct {
	in, n, half, out int    // points of the image, padded, at half resolution, and that come out
	analyse          matrix // padding and analysis of the image: n x in
	average          matrix // padding and low pass of the image: out x in
	forward          matrix // analysis, and low pass behind it: (n+out) x n
	inverse          matrix // synthesis from the fine basis: n x n
	halfInverse      matrix // from the coarse basis: half x half
	halfAverage      matrix // low pass at half resolution: out x half
}

// newAxis uses Kymatio's padding: to the next multiple of four and four more, by
// reflection that does not repeat the border, the smaller half in front.
func newAxis(points int) axis {
	const step = 1 << scales
	n := ((points+step)/step + 1) * step
	a := axis{in: points, n: n, half: n / 2, out: n/step - 2}
	pad := make([]float64, n*points)
	for x := range n {
		from := x - (n-points)/2
		if from < 0 {
			from = -from
		}
		if from >= points {
			from = 2*(points-1) - from
		}
		pad[x*points+from] = 1
	}
	b := newBasis(n)
	analysis := values(b.waves(), n)
	low := lowPass(n, 0)
	a.analyse = newMatrix(n, points, times(analysis, pad, n, points, n))
	a.average = newMatrix(a.out, points, times(low, pad, a.out, points, n))
	a.forward = newMatrix(n+a.out, n, append(analysis[:len(analysis):len(analysis)], low...))
	a.inverse = newMatrix(n, n, transposed(analysis, n, n))
	a.halfInverse = newMatrix(a.half, a.half, transposed(values(b.coarse(), a.half), a.half, a.half))
	a.halfAverage = newMatrix(a.out, a.half, lowPass(a.half, 1))
	return a
}

// analysis and lowPass are the two parts of forward.
func (a axis) analysis() matrix { return matrix{a.n, a.n, a.forward.v[:a.n*a.n]} }

func (a axis) lowPass() matrix { return matrix{a.out, a.n, a.forward.v[a.n*a.n:]} }

// scatteringPlan is what is computed once for a shape.
type scatteringPlan struct {
	row, col         axis
	outRows, outCols int
	fine             bank // first order, fine scale
	coarse           bank // coarse scale, of the image and of the fine moduli
}

func newScatteringPlan(shape dataset.Shape) *scatteringPlan {
	p := &scatteringPlan{row: newAxis(shape.Rows), col: newAxis(shape.Cols)}
	p.outRows, p.outCols = p.row.out, p.col.out
	p.fine = newBank(newSpectrum(p.row.n, p.col.n, 0))
	p.coarse = newCoarseBank(newSpectrum(p.row.n, p.col.n, 1))
	return p
}

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

// alongRows transforms the first dimension of src to dst, which have as many
// columns.
func (m matrix) alongRows(dst, src tensor) {
	kernel.MulAB(dst.data, dst.row, m.v, m.n, src.data, src.row, m.m, (src.cols-1)*src.point+src.width, m.n)
}

// alongCols transforms row srcRow of src to row dstRow of dst.
func (m matrix) alongCols(dst tensor, dstRow int, src tensor, srcRow int) {
	kernel.MulAB(dst.at(dstRow, 0), dst.point, m.v, m.n, src.at(srcRow, 0), src.point, m.m, src.width, m.n)
}

// run computes the features of at most lanes images.
func (p *scatteringPlan) run(s *scatteringMemory, dst, x blas32.General) {
	clear(s.image.data)
	for lane := range x.Rows {
		img := rowOf(x, lane)
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
		re, im := src.at(0, i)[:len(out)], src.at(0, i)[len(out):][:len(out)]
		for j, a := range re {
			b := im[j]
			out[j] = float32(math.Sqrt(float64(a*a + b*b)))
		}
	}
}

// collect writes a signal as a channel of every image.
func (p *scatteringPlan) collect(dst blas32.General, channel int, from tensor, signal int) {
	positions := p.outRows * p.outCols
	for lane := range dst.Rows {
		to := rowOf(dst, lane)[channel*positions:]
		for r := range p.outRows {
			src := from.at(r, 0)[signal*lanes+lane:]
			for i := range p.outCols {
				to[r*p.outCols+i] = src[i*from.point]
			}
		}
	}
}
