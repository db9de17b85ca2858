package features

import (
	"math"

	"github.com/pate-go/pate/experiments/dataset"
	"github.com/pate-go/pate/internal/kernel"
	"gonum.org/v1/gonum/blas/blas32"
)

// lanes is the number of images that lie side by side. A tensor is stored as
// [row][column][signal][lane], so a transform along rows or columns is a matrix
// times something many columns wide.
const lanes = 8

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

// scatteringMemory is the working memory of one goroutine.
type scatteringMemory struct {
	image, spectrum, moduli, gathered []float32
	line, modulus, wide               []float32 // of one row
	filtered, half, swap              []float32
	order0, order1, coarse1, order2   []float32 // results, [position][signal][lane]
}

func newScatteringMemory(p *scatteringPlan) *scatteringMemory {
	points, positions := p.row.n*p.col.n, p.outRows*p.outCols
	const signals = 2 * angles * angles // real and imaginary parts of order two
	widest := max(p.col.n*2*angles, p.col.half*signals) * lanes
	return &scatteringMemory{
		image:    make([]float32, p.row.in*p.col.in*lanes),
		spectrum: make([]float32, points*lanes),
		moduli:   make([]float32, points*angles*lanes),
		gathered: make([]float32, 16*angles*lanes),
		line:     make([]float32, widest),
		modulus:  make([]float32, widest/2),
		wide:     make([]float32, p.row.n*(p.col.n+p.outCols)*angles*lanes),
		filtered: make([]float32, max(points*2*angles, points/4*signals)*lanes),
		swap:     make([]float32, max(points*2*angles, points/4*signals)*lanes),
		half:     make([]float32, p.row.half*p.outCols*angles*angles*lanes),
		order0:   make([]float32, positions*lanes),
		order1:   make([]float32, positions*angles*lanes),
		coarse1:  make([]float32, positions*angles*lanes),
		order2:   make([]float32, positions*angles*angles*lanes),
	}
}

// alongRows transforms the first dimension of src, t.n x width, to dst, t.m x
// width, with rows ldd and lds apart.
func (t matrix) alongRows(dst []float32, ldd int, src []float32, lds, width int) {
	kernel.MulAB(dst, ldd, t.v, t.n, src, lds, t.m, width, t.n)
}

// run computes the features of at most lanes images.
func (p *scatteringPlan) run(s *scatteringMemory, dst, x blas32.General) {
	clear(s.image)
	for lane := range x.Rows {
		for i, v := range rowOf(x, lane) {
			s.image[i*lanes+lane] = v
		}
	}
	p.transformImage(s)
	p.fine.apply(s.filtered, s.spectrum, lanes, s.gathered)
	p.fineModuli(s)
	p.coarse.apply(s.filtered, s.spectrum, lanes, s.gathered)
	p.coarseModuli(s, s.coarse1, angles*lanes)
	p.coarse.apply(s.filtered, s.moduli, angles*lanes, s.gathered)
	p.coarseModuli(s, s.order2, angles*angles*lanes)
	p.collect(s, dst)
}

// transformImage computes the spectrum of the padded image, and order zero.
func (p *scatteringPlan) transformImage(s *scatteringMemory) {
	in, n, out := p.col.in*lanes, p.col.n*lanes, p.outCols*lanes
	for _, t := range []struct {
		row, col matrix
		dst      []float32
		width    int
	}{{p.row.analyse, p.col.analyse, s.spectrum, n}, {p.row.average, p.col.average, s.order0, out}} {
		for r := range p.row.in {
			t.col.alongRows(s.swap[r*t.width:], lanes, s.image[r*in:], lanes, lanes)
		}
		t.row.alongRows(t.dst, t.width, s.swap, t.width, t.width)
	}
}

// fineModuli turns the filtered spectra into moduli, their spectra and order
// one.
func (p *scatteringPlan) fineModuli(s *scatteringMemory) {
	const in, out = 2 * angles * lanes, angles * lanes
	n, wide := p.col.n, (p.col.n+p.outCols)*out
	p.row.inverse.alongRows(s.swap, n*in, s.filtered, n*in, n*in)
	for r := range p.row.n {
		p.col.inverse.alongRows(s.line, in, s.swap[r*n*in:], in, in)
		moduli(s.modulus, s.line, n, out)
		p.col.forward.alongRows(s.wide[r*wide:], out, s.modulus, out, out)
	}
	rows := p.row.n
	analysis, average := matrix{rows, rows, p.row.forward.v[:rows*rows]}, matrix{p.outRows, rows, p.row.forward.v[rows*rows:]}
	analysis.alongRows(s.moduli, n*out, s.wide, wide, n*out)
	average.alongRows(s.order1, p.outCols*out, s.wide[n*out:], wide, p.outCols*out)
}

// coarseModuli turns filtered spectra at half resolution into the averages of
// their moduli, of signals x lanes = out numbers a point.
func (p *scatteringPlan) coarseModuli(s *scatteringMemory, dst []float32, out int) {
	in, n := 2*out, p.col.half
	p.row.halfInverse.alongRows(s.swap, n*in, s.filtered, n*in, n*in)
	for r := range p.row.half {
		p.col.halfInverse.alongRows(s.line, in, s.swap[r*n*in:], in, in)
		moduli(s.modulus, s.line, n, out)
		p.col.halfAverage.alongRows(s.half[r*p.outCols*out:], out, s.modulus, out, out)
	}
	p.row.halfAverage.alongRows(dst, p.outCols*out, s.half, p.outCols*out, p.outCols*out)
}

// moduli takes n points of real parts and imaginary parts, width each.
func moduli(dst, src []float32, n, width int) {
	for i := range n {
		re, im, out := src[2*i*width:(2*i+1)*width], src[(2*i+1)*width:(2*i+2)*width], dst[i*width:(i+1)*width]
		im, out = im[:len(re)], out[:len(re)]
		for j, a := range re {
			b := im[j]
			out[j] = float32(math.Sqrt(float64(a*a + b*b)))
		}
	}
}

// collect writes the channels of every image, position by position. In order
// two the signals are second angle by first angle.
func (p *scatteringPlan) collect(s *scatteringMemory, dst blas32.General) {
	positions := p.outRows * p.outCols
	for lane := range dst.Rows {
		row := rowOf(dst, lane)
		channel := func(c int, from []float32, signals, signal int) {
			at := signal*lanes + lane
			for i := range positions {
				row[c*positions+i] = from[at+i*signals*lanes]
			}
		}
		channel(0, s.order0, 1, 0)
		for a := range angles {
			channel(1+a, s.order1, angles, a)
			channel(1+angles+a, s.coarse1, angles, a)
			for b := range angles {
				channel(1+2*angles+a*angles+b, s.order2, angles*angles, b*angles+a)
			}
		}
	}
}
