package features

import (
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/kernel"
)

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

// times returns the product a b, computed in double precision.
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
