package features

import (
	"fmt"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
)

// Scattering is the 2-D scattering transform of order two with two scales and eight angles (Bruna and Mallat
// 2013), like Scattering2D(J=2, L=8) of Kymatio 0.3. Each of 81 channels has one value per 4x4 pixels. A
// 28x28 image has 81 x 7 x 7 features, channel by channel. Let * be convolution, f the low-pass filter, and
// w(s,a) the wavelet of angle a and scale s: 1 (fine) or 2 (coarse). Channel 0 of image x is f*x. Channels 1
// to 16 are f*|w(s,a)*x|, ordered by s, then a. Channels 17 to 80 are f*|w(2,b)*|w(1,a)*x||, ordered by a,
// then b.
//
// Fourier transforms are computed as products of dense matrices, because vector units make these products
// faster than fast Fourier transforms.
//
// Batches are many times faster than single images. Concurrent calls are safe.
type Scattering struct {
	shape dataset.Shape
	plan  func() *scatteringPlan // made for the first image, since many callers only use Dim
	pool  sync.Pool              // of *scatteringMemory
}

const Channels = 1 + scales*angles + angles*angles

const maxScatteringSide = 128

// NewScattering returns the transform for images of the given shape, with sides of 5 to 128 pixels.
func NewScattering(shape dataset.Shape) (*Scattering, error) {
	const least = 5 // reflection adds at most as many pixels as a side has
	if min(shape.Rows, shape.Cols) < least || max(shape.Rows, shape.Cols) > maxScatteringSide {
		return nil, fmt.Errorf("features: scattering of images of %dx%d, sides must be from %d to %d",
			shape.Rows, shape.Cols, least, maxScatteringSide)
	}
	return &Scattering{shape: shape, plan: sync.OnceValue(func() *scatteringPlan { return newScatteringPlan(shape) })}, nil
}

func (s *Scattering) Name() string { return "scattering(J=2,L=8)" }

func (s *Scattering) Dim(shape dataset.Shape) int {
	if shape != s.shape {
		return 0
	}
	_, rows := pointsOf(shape.Rows)
	_, cols := pointsOf(shape.Cols)
	return Channels * rows * cols
}

func (s *Scattering) Extract(dst, img []float32, shape dataset.Shape) {
	extractOne(s, dst, img, shape)
}

// ExtractBatch extracts the features of the images in the rows of x. The features of an image depend only on
// this image, to the last bit.
func (s *Scattering) ExtractBatch(dst, x blas32.General, shape dataset.Shape) {
	checkBatch(s, dst, x, shape)
	m, _ := s.pool.Get().(*scatteringMemory)
	if m == nil {
		m = newScatteringMemory(s.plan())
	}
	defer s.pool.Put(m)
	for from := 0; from < x.Rows; from += together {
		to := min(from+together, x.Rows)
		s.plan().run(m, dense.Rows(dst, from, to), dense.Rows(x, from, to))
	}
}

type axis struct {
	in, n, half, out int    // number of points: of the image, padded, at half resolution, and of the output
	analyse          matrix // padding and analysis of the image: n x in
	average          matrix // padding and low pass of the image: out x in
	fine             folded
	coarse           folded // at half resolution
}

type folded struct {
	n            int
	inverse      kernel.Quarters // synthesis
	mirrored     kernel.Quarters // synthesis of a mirrored signal
	cosine, sine kernel.Halves   // analysis of sums, and of differences 1 to n/2 - 1
	average      kernel.Mirror   // low pass of sums and differences
	lowPass      matrix          // low pass of points that are not folded: out x n
}

func pointsOf(image int) (padded, out int) {
	const step = 1 << scales
	padded = ((image+step)/step + 1) * step
	return padded, padded/step - 2
}

func newAxis(points int) axis {
	n, out := pointsOf(points)
	a := axis{in: points, n: n, half: n / 2, out: out}
	centre := n/2 - 2
	padded := func(row func(i int) float64) []float64 {
		image := make([]float64, points)
		for x := range n {
			from := x - (n-points)/2
			if from < 0 {
				from = -from
			}
			if from >= points {
				from = 2*(points-1) - from
			}
			image[from] += row((x - centre + n) % n)
		}
		return image
	}
	a.fine = newFolded(n, a.out, 0)
	a.coarse = newFolded(n/2, a.out, 1)
	analysis, average := make([][]float64, n), make([][]float64, a.out)
	for i, w := range (basis{n}).waves() {
		analysis[i] = padded(func(x int) float64 { return w.at(x, n) })
	}
	low := lowPass(n, 0)
	for u := range average {
		average[u] = padded(func(x int) float64 { return low[u*n+(x+centre)%n] })
	}
	a.analyse = newMatrix(n, points, func(i, j int) float64 { return analysis[i][j] })
	a.average = newMatrix(a.out, points, func(i, j int) float64 { return average[i][j] })
	return a
}

func newFolded(n, out, level int) folded {
	h := n / 2
	waves, low := basis{n}.waves(), lowPass(n, level)
	centre := n/2 - 2>>level
	pass := func(u, x int) float64 { return low[u*n+(x+centre+n)%n] }
	share := func(x int) float64 {
		if x == 0 || x == h {
			return 0.5
		}
		return 1
	}
	f := folded{n: n}
	// The values at points h - i and i are equal for cosines of even frequencies and sines of odd
	// frequencies. For other functions they are opposite.
	f.inverse = kernel.Quarters{Last: h, Mirror: newMirror(h/2+1, h+1, h-1,
		func(i, k int) float64 { return waves[k].at(i, n) },
		func(i, k int) float64 { return waves[h+1+k].at(i, n) })}
	f.mirrored = f.inverse
	f.mirrored.Odd = newMatrix(h/2+1, h-1, func(i, k int) float64 { return -waves[h+1+k].at(i, n) }).v
	f.cosine = newHalves(h+1, func(k, i int) float64 { return share(i) * waves[k].at(i, n) })
	f.sine = newHalves(h-1, func(k, i int) float64 { return waves[h+1+k].at(i+1, n) })
	// Loop over the points behind the centre. If their number is odd, the centre is one of the points.
	first := out / 2
	f.average = newMirror(out-first, h+1, h+1,
		func(u, x int) float64 { return share(x) * (pass(first+u, x) + pass(first+u, -x)) / 2 },
		func(u, x int) float64 { return (pass(first+u, x) - pass(first+u, -x)) / 2 })
	f.lowPass = newMatrix(out, n, pass)
	return f
}

func newMirror(m, ke, ko int, even, odd func(i, j int) float64) kernel.Mirror {
	return kernel.Mirror{Even: newMatrix(m, ke, even).v, Odd: newMatrix(m, ko, odd).v, M: m, KE: ke, KO: ko}
}

func newHalves(n int, at func(k, i int) float64) kernel.Halves {
	last := n - 1
	rows := func(m, first int) []float32 {
		return newMatrix(m, last/2+1, func(r, i int) float64 {
			if 2*i == last { // the point is its own mirror image
				return at(2*r+first, i) / 2
			}
			return at(2*r+first, i)
		}).v
	}
	return kernel.Halves{M: n, Last: last, Even: rows((n+1)/2, 0), Odd: rows(n/2, 1)}
}

type scatteringPlan struct {
	row, col         axis
	outRows, outCols int
	fine             bank // first order at the fine scale
	coarse           bank // coarse scale, of the image and of the fine moduli
}

func newScatteringPlan(shape dataset.Shape) *scatteringPlan {
	p := &scatteringPlan{row: newAxis(shape.Rows), col: newAxis(shape.Cols)}
	p.outRows, p.outCols = p.row.out, p.col.out
	// A bank stores offsets in the memory of a goroutine. These offsets must be known here.
	m := newScatteringMemory(p)
	p.fine = newBank(newSpectrum(p.row.n, p.col.n, 0), m.fine.band[0], m.spectrum, 1)
	p.coarse = newBank(newSpectrum(p.row.n, p.col.n, 1), m.coarse.band[0], m.spectrum, 2)
	return p
}
