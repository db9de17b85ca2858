package moments

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/mathx"
)

// Whitening is a linear map of channels that is computed from a [SecondMoment].
type Whitening struct {
	Matrix *mat.SymDense // channels x channels
	Ridge  float64
	Source Source // of the second moment
}

// Whitening returns the map (S + ridge lambda I)^(-1/2). Here S is the matrix without its negative
// eigenvalues, which are noise, and lambda is the largest eigenvalue. It costs nothing.
func (s SecondMoment) Whitening(ridge float64) (Whitening, error) {
	if !(ridge > 0) || math.IsInf(ridge, 0) {
		return Whitening{}, fmt.Errorf("moments: ridge %g, must be positive and finite", ridge)
	}
	if err := squareError(s.Matrix, s.Source); err != nil {
		return Whitening{}, err
	}
	n := s.Matrix.SymmetricDim()
	var eigen mat.EigenSym
	if !eigen.Factorize(s.Matrix, true) {
		return Whitening{}, errors.New("moments: the second moments have no eigendecomposition: they are not finite")
	}
	lambda := eigen.Values(nil)
	top := lambda[n-1]
	if !(top > 0) {
		return Whitening{}, fmt.Errorf("moments: the largest second moment is %g: all noise", top)
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	w := mat.NewSymDense(n, nil)
	for k, l := range lambda {
		w.SymRankOne(w, 1/math.Sqrt(max(l, 0)+ridge*top), vectors.ColView(k))
	}
	for i := range n {
		for j := i; j < n; j++ {
			if !mathx.IsFinite(w.At(i, j)) {
				return Whitening{}, errNotFinite
			}
		}
	}
	return Whitening{Matrix: w, Ridge: ridge, Source: s.Source}, nil
}

// squareError returns an error for a matrix that does not have its source's number of channels.
func squareError(m *mat.SymDense, s Source) error {
	if m == nil || m.SymmetricDim() != s.Channels {
		return fmt.Errorf("moments: the matrix is missing or not of %d channels", s.Channels)
	}
	return nil
}

// Apply maps the channels of every row of x at each of its positions, in place. It returns an error if a
// row is not finite afterwards.
func (w Whitening) Apply(x blas32.General, workers int) error {
	channels, positions := w.Source.Channels, w.Source.Positions
	if err := squareError(w.Matrix, w.Source); err != nil {
		return err
	}
	if err := matrixError(x, channels*positions); err != nil {
		return err
	}
	m := make([]float32, channels*channels)
	for i := range channels {
		for j := range channels {
			m[i*channels+j] = float32(w.Matrix.At(i, j))
		}
	}
	return eachRow(x, workers, func() func([]float32) error {
		out := make([]float32, channels*positions)
		return func(row []float32) error {
			kernel.MulAB(out, positions, m, channels, row, positions, channels, positions, channels)
			copy(row, out)
			if !mathx.IsFinite(kernel.SquaredNorm(row)) {
				return errNotFinite
			}
			return nil
		}
	})
}
