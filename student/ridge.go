package student

import (
	"context"
	"errors"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/pate-go/pate/internal/dense"
)

var errSingular = errors.New("student: kernel ridge: system is not positive definite")

const (
	// The kernel is exp(-ridgeWidth·|a-b|²/width), where width is the graph's mean squared
	// distance to the last neighbour. The constant ridgeLambda is the ridge in the kernel's
	// norm. The constant ridgeFloor is a ridge in the plain norm, relative to the mean
	// diagonal. It covers float32 rounding of the Gram matrix. All were chosen on the
	// development split of public MNIST. There a factor of 2 in ridgeWidth or ridgeLambda
	// costs less than .001.
	ridgeWidth  = .5
	ridgeLambda = .1
	ridgeFloor  = 1e-5
)

// ridge is kernel ridge regression on the classes' indicators, restricted to functions
// spanned by landmark rows (Nyström). Let K be the kernel of training rows and landmarks,
// and M the kernel of landmarks with themselves. Then it solves (KᵀK + ridgeLambda·M)
// a = Kᵀ(y - mean y).
type ridge struct {
	rbf       dense.RBF
	landmarks Matrix // landmarks x components
	norms     []float32
	coef      Matrix // landmarks x classes
	mean      []float32
}

// fitRidge trains on the rows of z whose target in hard is not Unlabelled. Targets are
// columns 0..classes-1.
func fitRidge(ctx context.Context, z Matrix, hard, landmarks []int, width float64, classes int) (*ridge, error) {
	centres := dense.Pick(z, landmarks)
	if !(width > 0) {
		width = 1
	}
	r := &ridge{rbf: dense.RBF{Gamma: float32(ridgeWidth / width)}, landmarks: centres, norms: dense.SquaredNorms(centres), mean: make([]float32, classes)}
	trained := 0
	for _, y := range hard {
		if y != Unlabelled {
			r.mean[y]++
			trained++
		}
	}
	for c := range r.mean {
		r.mean[c] /= float32(trained)
	}
	m := len(landmarks)
	// Sum blocks in float64. In float32, sums over thousands of rows would not leave the
	// Gram matrix positive definite.
	gram, target := make([]float64, m*m), make([]float64, m*classes)
	gramBlock, targetBlock := dense.New(m, m), dense.New(m, classes)
	for from := 0; from < z.Rows; from += blockRows {
		if err := cancelled(ctx); err != nil {
			return nil, err
		}
		to := min(from+blockRows, z.Rows)
		k := r.kernel(dense.Rows(z, from, to))
		y := dense.New(to-from, classes)
		for i := range y.Rows {
			if hard[from+i] == Unlabelled {
				clear(dense.Row(k, i))
				continue
			}
			for c, mean := range r.mean {
				y.Data[i*y.Stride+c] = -mean
			}
			y.Data[i*y.Stride+hard[from+i]]++
		}
		clear(gramBlock.Data)
		clear(targetBlock.Data)
		addUpperGram(gramBlock, k)
		dense.AddATB(targetBlock, k, y)
		addTo(gram, gramBlock.Data)
		addTo(target, targetBlock.Data)
	}
	coef, err := solve(gram, r.kernel(centres), target, classes)
	r.coef = coef
	return r, err
}

// addUpperGram adds aᵀ·a to dst, only in tiles on and above the diagonal.
func addUpperGram(dst, a Matrix) {
	const tile = 256
	for from := 0; from < a.Cols; from += tile {
		left, right, part := a, a, dst
		left.Cols, left.Data = min(tile, a.Cols-from), a.Data[from:]
		right.Cols, right.Data = a.Cols-from, a.Data[from:]
		part.Rows, part.Cols, part.Data = left.Cols, right.Cols, dst.Data[from*dst.Stride+from:]
		dense.AddATB(part, left, right)
	}
}

func addTo(sum []float64, part []float32) {
	for i, v := range part {
		sum[i] += float64(v)
	}
}

// solve returns (gram + ridgeLambda·inner + floor)⁻¹ target. It reads only the upper
// triangles. It overwrites gram and target.
func solve(gram []float64, inner Matrix, target []float64, classes int) (Matrix, error) {
	m := inner.Rows
	trace := 0.
	for i := range m {
		trace += gram[i*m+i]
	}
	floor := ridgeFloor * (trace/float64(m) + ridgeLambda)
	for i := range m {
		for j := i; j < m; j++ {
			gram[i*m+j] += ridgeLambda * float64(inner.Data[i*inner.Stride+j])
		}
		gram[i*m+i] += floor
	}
	factor, ok := lapack64.Potrf(blas64.Symmetric{N: m, Stride: m, Uplo: blas.Upper, Data: gram})
	if !ok {
		return Matrix{}, errSingular
	}
	lapack64.Potrs(factor, blas64.General{Rows: m, Cols: classes, Stride: classes, Data: target})
	out := dense.New(m, classes)
	for i, v := range target {
		out.Data[i] = float32(v)
	}
	return out, nil
}

// kernel returns the kernel of rows of z with the landmarks.
func (r *ridge) kernel(z Matrix) Matrix {
	k := dense.New(z.Rows, r.landmarks.Rows)
	r.rbf.Block(k, z, dense.SquaredNorms(z), r.landmarks, r.norms)
	return k
}

// scores returns a row of scores, one per class, for every row of z.
func (r *ridge) scores(ctx context.Context, z Matrix) (Matrix, error) {
	out := dense.New(z.Rows, len(r.mean))
	err := forBlocks(ctx, z.Rows, func(from, to int) {
		block := dense.Rows(out, from, to)
		dense.MulAB(block, r.kernel(dense.Rows(z, from, to)), r.coef)
		for i := range block.Rows {
			for c, mean := range r.mean {
				block.Data[i*block.Stride+c] += mean
			}
		}
	})
	return out, err
}
