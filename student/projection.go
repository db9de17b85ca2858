package student

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/parallel"
)

var errEigen = errors.New("student: eigenvalues did not converge")

// projection maps x to (x - mean)·scale·directions.
type projection struct {
	mean       []float64
	scale      float64 // 1 / root mean square of the centred pool
	directions Matrix  // features x components
}

const (
	// oversample is the number of additional directions of a random subspace (Halko et al. 2011).
	oversample = 16
	passes     = 2

	// On public MNIST (development split, 200 labels) accuracy is .9735 at 0, .9748 at .1, .9745 at .2 and
	// .9728 at .3.

	// Each principal component is divided by its variance to the power whiten. With .5, all components would
	// have equal variance.
	whiten = .1

	far = 1e6 // largest scaled feature, so that unusual rows do not overflow
)

func newProjection(ctx context.Context, x Matrix, components int, rnd *rand.Rand) (*projection, error) {
	p := &projection{mean: make([]float64, x.Cols), scale: 1}
	for i := range x.Rows {
		for j, v := range dense.Row(x, i) {
			p.mean[j] += float64(v)
		}
	}
	for j := range p.mean {
		p.mean[j] /= float64(x.Rows)
	}
	var sum float64
	for i := range x.Rows {
		for j, v := range dense.Row(x, i) {
			d := float64(v) - p.mean[j]
			sum += d * d
		}
	}
	if sum /= float64(x.Rows) * float64(x.Cols); sum > 0 {
		p.scale = 1 / math.Sqrt(sum)
	}
	components = min(components, x.Cols, max(1, x.Rows-1))
	basis := p.start(components, x.Cols, rnd)
	for range passes {
		if basis.Cols == x.Cols {
			break // all directions are kept
		}
		image := dense.New(x.Cols, basis.Cols)
		err := p.walk(ctx, x, basis, func(centred, part Matrix) {
			forTiles(x.Cols, func(low, high int) {
				dense.AddATB(dense.Rows(image, low, high), dense.Columns(centred, low, high), part)
			})
		})
		if err != nil {
			return nil, err
		}
		basis = orthonormal(image)
	}
	gram := dense.New(basis.Cols, basis.Cols)
	err := p.walk(ctx, x, basis, func(_, part Matrix) { dense.AddATB(gram, part, part) })
	if err != nil {
		return nil, err
	}
	values, vectors, err := eigen(gram)
	if err != nil {
		return nil, err
	}
	top := values[len(values)-1]
	rotation := dense.New(basis.Cols, components)
	for k := range components {
		from := len(values) - 1 - k
		if !(values[from] > 1e-7*top) {
			continue // no variance except rounding: the column stays zero
		}
		weight := math.Pow(values[from]/top, -whiten)
		for i := range rotation.Rows {
			rotation.Data[i*rotation.Stride+k] = float32(weight * vectors.Data[i*vectors.Stride+from])
		}
	}
	p.directions = dense.New(x.Cols, components)
	dense.MulAB(p.directions, basis, rotation)
	return p, nil
}

func (p *projection) start(components, features int, rnd *rand.Rand) Matrix {
	if width := components + oversample; 2*width < features {
		basis := dense.New(features, width)
		for i := range basis.Data {
			basis.Data[i] = float32(rnd.NormFloat64())
		}
		return orthonormal(basis)
	}
	basis := dense.New(features, features)
	for i := range features {
		basis.Data[i*basis.Stride+i] = 1
	}
	return basis
}

func (p *projection) walk(ctx context.Context, x, basis Matrix, do func(centred, part Matrix)) error {
	const share = blockRows / 4
	work, parts := dense.New(min(blockRows, x.Rows), x.Cols), dense.New(min(blockRows, x.Rows), basis.Cols)
	mean := p.mean32()
	for from := 0; from < x.Rows; from += blockRows {
		if err := cancelled(ctx); err != nil {
			return err
		}
		rows := min(blockRows, x.Rows-from)
		block, part := dense.Rows(work, 0, rows), dense.Rows(parts, 0, rows)
		parallel.Each(0, (rows+share-1)/share, func(_, k int) {
			low, high := k*share, min((k+1)*share, rows)
			p.centre(dense.Rows(block, low, high), dense.Rows(x, from+low, from+high), mean)
			dense.MulAB(dense.Rows(part, low, high), dense.Rows(block, low, high), basis)
		})
		do(block, part)
	}
	return nil
}

func (p *projection) mean32() []float32 {
	mean := make([]float32, len(p.mean))
	for j, v := range p.mean {
		mean[j] = float32(v)
	}
	return mean
}

func (p *projection) centre(dst, x Matrix, mean []float32) {
	for i := range dst.Rows {
		kernel.Centre(dense.Row(dst, i), dense.Row(x, i), mean, p.scale, far)
	}
}

func (p *projection) apply(ctx context.Context, x Matrix) (Matrix, error) {
	out, mean := dense.New(x.Rows, p.directions.Cols), p.mean32()
	err := forBlocks(ctx, x.Rows, func(scratch *Matrix, from, to int) {
		centred := resized(scratch, to-from, x.Cols)
		p.centre(centred, dense.Rows(x, from, to), mean)
		dense.MulAB(dense.Rows(out, from, to), centred, p.directions)
	})
	return out, err
}

func orthonormal(m Matrix) Matrix {
	a := blas64.General{Rows: m.Rows, Cols: m.Cols, Stride: m.Cols, Data: make([]float64, m.Rows*m.Cols)}
	for i, v := range m.Data {
		a.Data[i] = float64(v)
	}
	tau := make([]float64, m.Cols)
	work := make([]float64, 64*m.Cols)
	lapack64.Geqrf(a, tau, work, len(work))
	lapack64.Orgqr(a, tau, work, len(work))
	out := dense.New(m.Rows, m.Cols)
	for i, v := range a.Data {
		out.Data[i] = float32(v)
	}
	return out
}

func eigen(m Matrix) ([]float64, blas64.General, error) {
	n := m.Rows
	a := blas64.Symmetric{N: n, Stride: n, Uplo: blas.Upper, Data: make([]float64, n*n)}
	for i, v := range m.Data {
		a.Data[i] = float64(v)
	}
	values, work := make([]float64, n), make([]float64, 64*n+64)
	if !lapack64.Syev(lapack.EVCompute, a, values, work, len(work)) {
		return nil, blas64.General{}, errEigen
	}
	return values, blas64.General{Rows: n, Cols: n, Stride: n, Data: a.Data}, nil
}

// On the development split of public MNIST, the accuracies for .3, 1 and 3 differ by less than .001.

const shrink = 1

func withinClass(z Matrix, answers []int, classes int) (Matrix, error) {
	// withinClass returns the linear map that shrinks directions in which rows of one class differ: (W/mean +
	// shrink)^-1/2, where W is the within-class covariance of z and mean is the mean of its eigenvalues
	// (regularised discriminant analysis, Friedman 1989). The slice answers holds the classes of the rows.
	// Unlabelled rows are skipped.
	centred := dense.New(z.Rows, z.Cols)
	means, counts := make([]float64, classes*z.Cols), make([]float64, classes)
	for i, y := range answers {
		if y == Unlabelled {
			continue
		}
		counts[y]++
		for j, v := range dense.Row(z, i) {
			means[y*z.Cols+j] += float64(v)
		}
	}
	for i, y := range answers {
		if y == Unlabelled {
			continue
		}
		out := dense.Row(centred, i)
		for j, v := range dense.Row(z, i) {
			out[j] = float32(float64(v) - means[y*z.Cols+j]/counts[y])
		}
	}
	within := dense.New(z.Cols, z.Cols)
	dense.AddATB(within, centred, centred)
	values, vectors, err := eigen(within)
	if err != nil {
		return Matrix{}, err
	}
	total := 0.
	for _, v := range values {
		total += max(0, v)
	}
	if total == 0 {
		total = 1
	}
	d := z.Cols
	weights := make([]float64, d)
	for k, v := range values {
		weights[k] = 1 / math.Sqrt(max(0, v)*float64(d)/total+shrink)
	}
	out := dense.New(d, d)
	parallel.Each(0, d, func(_, i int) {
		for j := range d {
			var sum float64
			for k, w := range weights {
				sum += w * vectors.Data[i*d+k] * vectors.Data[j*d+k]
			}
			out.Data[i*out.Stride+j] = float32(sum)
		}
	})
	return out, nil
}
