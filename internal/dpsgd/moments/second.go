package moments

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/rng"
)

// SecondMoment is a released matrix of second moments of channels.
type SecondMoment struct {
	Matrix *mat.SymDense // channels x channels
	Source Source
}

// maxChannels keeps a contribution, of channels (channels+1)/2 entries, small.
const maxChannels = 1024

// EstimateSecondMoment releases the second moments of channels. A row of x holds the channels one behind
// the other, each with the same number of positions. A row contributes the mean, over its positions, of the
// outer products of the channels' values. This symmetric matrix is clipped to the Frobenius norm
// cfg.ClipNorm. A row that is not finite counts as zero.
func EstimateSecondMoment(
	ctx context.Context, x blas32.General, channels int, cfg Config, reservation *ledger.Reservation, key rng.Key,
) (SecondMoment, error) {
	cols := cfg.columns(x)
	if channels < 1 || channels > maxChannels || cols < channels || cols%channels != 0 {
		return SecondMoment{}, fmt.Errorf("moments: %d channels in rows of %d columns", channels, cols)
	}
	positions := cols / channels
	triangle, releasable, err := release(ctx, secondModel(channels, positions), x, cfg, reservation, key)
	if err != nil {
		return SecondMoment{}, err
	}
	return SecondMoment{Matrix: fromTriangle(triangle, channels), Source: Source{
		Moment: "second moment", Channels: channels, Positions: positions,
		ClipNorm: cfg.ClipNorm, NoiseMultiplier: cfg.NoiseMultiplier, Records: cfg.Records, Releasable: releasable,
	}}, nil
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

// toTriangle sets dst to the upper triangle of a symmetric matrix, row by row, times factor. An entry off
// the diagonal stands for two entries and is multiplied by the root of
// 2. So the norm of the triangle is the Frobenius norm of the matrix.
func toTriangle(dst, matrix []float32, n int, factor float64) {
	at := 0
	for i := range n {
		dst[at] = float32(float64(matrix[i*n+i]) * factor)
		rest := matrix[i*n+i+1 : (i+1)*n]
		kernel.Affine(dst[at+1:at+1+len(rest)], rest, 0, factor*math.Sqrt2)
		at += 1 + len(rest)
	}
}

// fromTriangle inverts toTriangle.
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
