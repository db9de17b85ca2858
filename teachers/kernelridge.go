package teachers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/pate-go/pate/internal/dense"
)

// MaxKernelRows is the largest number of training rows of KernelRidge. The float64 Gram matrix needs 8·rows²
// bytes, at most 1.2 GB.
const MaxKernelRows = 12_000

// KernelRidge is one-against-rest ridge regression on the Gaussian kernel K(x, z) = exp(-Gamma |x-z|²). For
// each class it solves (K + Lambda·1) a = y with targets y of +1 and -1. It predicts the class with the
// largest Σ aᵢ K(x, xᵢ) among the classes in the training data.
//
// A fit takes rows³/3 + rows²·(features + 2·classes) multiplications. The learner uses no random numbers and
// is Reproducible. The model contains the training data and is equally secret.
type KernelRidge struct {
	Gamma  float64 // inverse squared width of the kernel, 1/(squared feature unit); positive, no default
	Lambda float64 // ridge penalty, relative to the kernel's diagonal of 1; positive, no default
}

func (KernelRidge) Reproducible() bool { return true }

func (l KernelRidge) Fit(ctx context.Context, data Dataset, _ *rand.Rand) (Classifier, error) {
	if !(l.Gamma > 0 && l.Gamma <= math.MaxFloat32) {
		return nil, fmt.Errorf("teachers: KernelRidge.Gamma is %v, want a positive number", l.Gamma)
	}
	if !(l.Lambda > 0 && l.Lambda <= math.MaxFloat32) {
		return nil, fmt.Errorf("teachers: KernelRidge.Lambda is %v, want a positive number", l.Lambda)
	}
	if c, err := begin(ctx, "kernel ridge", data); c != nil || err != nil {
		return c, err
	}
	n := data.X.Rows
	if n > MaxKernelRows {
		return nil, fmt.Errorf("teachers: kernel ridge: %d rows, at most %d fit", n, MaxKernelRows)
	}
	present, index := dense.Present[int](data.Y, data.Classes)
	m := &kernelModel{
		rbf:  dense.RBF{Gamma: float32(l.Gamma)},
		x:    dense.New(n, data.X.Cols),
		coef: dense.New(len(present), n),
	}
	m.ScoreModel = ScoreModel{
		Name: "teachers", Features: data.X.Cols, Classes: data.Classes, Present: present, Absent: -1, Score: m.score,
	}
	for i := range n {
		copy(dense.Row(m.x, i), dense.Row(data.X, i))
	}
	m.norm = dense.SquaredNorms(m.x)

	gram, err := m.gram(ctx, l.Lambda)
	if err != nil {
		return nil, err
	}
	factor, ok := lapack64.Potrf(gram)
	if !ok {
		return nil, fmt.Errorf("teachers: kernel ridge: Gram matrix is not positive definite; Lambda = %v is too small", l.Lambda)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("teachers: kernel ridge: %w", err)
	}
	target := blas64.General{Rows: n, Cols: len(present), Stride: len(present), Data: make([]float64, n*len(present))}
	for i := range target.Data {
		target.Data[i] = -1
	}
	for i, k := range index {
		target.Data[i*target.Stride+k] = 1
	}
	lapack64.Potrs(factor, target)
	for k := range present {
		for i, c := 0, dense.Row(m.coef, k); i < n; i++ {
			c[i] = float32(target.Data[i*target.Stride+k])
		}
	}
	return m, nil
}

type kernelModel struct {
	ScoreModel
	rbf  dense.RBF
	x    Matrix    // examples
	norm []float32 // squared norms of the examples
	coef Matrix    // coefficients, a row for each class in the training data and a column for each example
}

const gramRows = 64

func (m *kernelModel) gram(ctx context.Context, lambda float64) (blas64.Symmetric, error) {
	n := m.x.Rows
	out := blas64.Symmetric{Uplo: blas.Upper, N: n, Stride: n, Data: make([]float64, n*n)}
	work := dense.New(min(gramRows, n), n)
	for from := 0; from < n; from += gramRows {
		if err := ctx.Err(); err != nil {
			return out, fmt.Errorf("teachers: kernel ridge: %w", err)
		}
		// Compute the columns from index `from` on. The other columns follow by symmetry.
		to := min(from+gramRows, n)
		block := Matrix{Rows: to - from, Cols: n - from, Stride: n - from, Data: work.Data}
		m.rbf.Block(block, dense.Rows(m.x, from, to), m.norm[from:to], dense.Rows(m.x, from, n), m.norm[from:])
		for i := from; i < to; i++ {
			upper := out.Data[i*n+from : (i+1)*n]
			for j, v := range dense.Row(block, i-from) {
				upper[j] = float64(v)
			}
			upper[i-from] = 1 + lambda
		}
	}
	return out, nil
}

var similarities = sync.Pool{New: func() any { return new([]float32) }}

func (m *kernelModel) score(dst, x Matrix) error {
	memory := similarities.Get().(*[]float32)
	defer similarities.Put(memory)
	*memory = slices.Grow((*memory)[:0], x.Rows*m.x.Rows)[:x.Rows*m.x.Rows]
	k := Matrix{Rows: x.Rows, Cols: m.x.Rows, Stride: m.x.Rows, Data: *memory}
	m.rbf.Block(k, x, dense.SquaredNorms(x), m.x, m.norm)
	dense.MulBT(dst, k, m.coef)
	return nil
}
