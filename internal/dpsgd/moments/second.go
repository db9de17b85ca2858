package moments

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// SecondMoment is the released matrix of second moments of channels.
type SecondMoment struct {
	Matrix *mat.SymDense // channels x channels
	Source Source
}

const maxChannels = 1024

// EstimateSecondMoment releases the matrix of second moments of the channels. A row of data holds one channel
// after another, each with the same number of positions. For each row, the outer products of the channel
// values are averaged over positions. The mean matrix of a record's rows is clipped to Frobenius norm
// cfg.ClipNorm. A mean that is not finite counts as zero.
func EstimateSecondMoment(
	ctx context.Context, data dpsgd.Data, channels int, cfg Config, reservation *ledger.Reservation, key rng.Key,
) (SecondMoment, error) {
	_, cols := data.Dims()
	if channels < 1 || channels > maxChannels || cols < channels || cols%channels != 0 {
		return SecondMoment{}, fmt.Errorf("moments: %d channels in rows of %d columns", channels, cols)
	}
	source := Source{Moment: "second moment", Channels: channels, Positions: cols / channels}
	triangle, source, err := release(ctx, secondModel(channels, source.Positions), data, cfg, source, reservation, key)
	if err != nil {
		return SecondMoment{}, err
	}
	return SecondMoment{Matrix: fromTriangle(triangle, channels), Source: source}, nil
}

func secondModel(channels, positions int) *model {
	return &model{
		cols: channels * positions, parameters: make([]float32, channels*(channels+1)/2),
		fingerprint: fmt.Appendf(nil, "second moment %d %d", channels, positions),
		contributor: func() contributor {
			product := make([]float32, channels*channels)
			return func(dst, row []float32) {
				kernel.MulBT(product, channels, row, positions, row, positions, channels, channels, positions)
				toTriangle(dst, product, channels, 1/float64(positions))
			}
		},
	}
}

// toTriangle sets dst to the upper triangle of factor·matrix, with off-diagonal elements times sqrt(2). So
// the Euclidean norm of dst is the Frobenius norm of factor·matrix.
func toTriangle(dst, matrix []float32, n int, factor float64) {
	at := 0
	for i := range n {
		dst[at] = float32(float64(matrix[i*n+i]) * factor)
		rest := matrix[i*n+i+1 : (i+1)*n]
		kernel.Affine(dst[at+1:at+1+len(rest)], rest, 0, factor*math.Sqrt2)
		at += 1 + len(rest)
	}
}

func fromTriangle(triangle []float64, n int) *mat.SymDense {
	m := mat.NewSymDense(n, nil)
	at := 0
	for i := range n {
		for j := i; j < n; j++ {
			v := triangle[at]
			if j > i {
				v /= math.Sqrt2
			}
			m.SetSym(i, j, v)
			at++
		}
	}
	return m
}

// Whitening is a linear map of channels that was computed from a [SecondMoment].
type Whitening struct {
	Matrix *mat.SymDense // channels x channels
	Ridge  float64
	Source Source // of the second moment
}

// Whitening returns the linear map (S + ridge·λ·I)^(-1/2). The matrix S is s.Matrix without its negative
// eigenvalues, which are noise. The number λ is the largest eigenvalue. Whitening costs no privacy.
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

func squareError(m *mat.SymDense, s Source) error {
	if m == nil || m.SymmetricDim() != s.Channels {
		return fmt.Errorf("moments: the matrix is missing or not of %d channels", s.Channels)
	}
	return nil
}

// Apply whitens the channels of every row of x at each position, in place. A result may be infinite or NaN.
func (w Whitening) Apply(x blas32.General) error {
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
	out := make([]float32, channels*positions)
	for i := range x.Rows {
		row := dense.Row(x, i)
		kernel.MulAB(out, positions, m, channels, row, positions, channels, positions, channels)
		copy(row, out)
	}
	return nil
}
