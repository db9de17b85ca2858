package student

import (
	"context"
	"errors"
	"slices"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
)

var errSingular = errors.New("student: kernel ridge: system is not positive definite")

const (
	// The kernel is exp(-ridgeWidth·|a-b|²/width), where width is the graph's mean squared distance to the
	// last neighbour. The penalty in the kernel's norm is ridgeLambda. Against float32 rounding, ridgeFloor
	// is a penalty in the Euclidean norm, relative to the mean diagonal. All were chosen on the development
	// split of public MNIST. A factor of 2 in ridgeWidth or ridgeLambda costs less than .001.

	ridgeWidth  = .5
	ridgeLambda = .1
	ridgeFloor  = 1e-5

	gramRows = 1024 // number of rows per block
)

// ridge solves (KᵀK + ridgeLambda·M) a = Kᵀ(y - mean y). K is the kernel between training rows and landmarks,
// and M is the kernel between landmarks.

// ridge is kernel ridge regression on class indicators, with a Nyström approximation by landmark rows.
type ridge struct {
	rbf       dense.RBF
	landmarks Matrix // landmarks x components
	norms     []float32
	coef      Matrix // landmarks x classes
	mean      []float32
}

func fitRidge(ctx context.Context, z Matrix, hard, landmarks []int, width float64, classes int) (*ridge, error) {
	s := newRidgeSums(dense.Pick(z, landmarks), hard, width, classes)
	if err := s.add(ctx, z, hard); err != nil {
		return nil, err
	}
	fitted, err := s.solve([]float64{ridgeLambda})
	if err != nil {
		return nil, err
	}
	return fitted[0], nil
}

type ridgeSums struct {
	ridge               // without coefficients
	gram, target Matrix // KᵀK on and above the diagonal, and Kᵀ(y - mean y)
}

func newRidgeSums(landmarks Matrix, hard []int, width float64, classes int) *ridgeSums {
	if !(width > 0) {
		width = 1
	}
	m := landmarks.Rows
	s := &ridgeSums{gram: dense.New(m, m), target: dense.New(m, classes), ridge: ridge{
		rbf: dense.RBF{Gamma: float32(ridgeWidth / width)}, landmarks: landmarks, norms: dense.SquaredNorms(landmarks),
		mean: make([]float32, classes),
	}}
	trained := 0
	for _, y := range hard {
		if y != Unlabelled {
			s.mean[y]++
			trained++
		}
	}
	for c := range s.mean {
		s.mean[c] /= float32(trained)
	}
	return s
}

func (s *ridgeSums) add(ctx context.Context, z Matrix, hard []int) error {
	m, classes := s.landmarks.Rows, len(s.mean)
	k, y := dense.New(min(gramRows, z.Rows), m), dense.New(min(gramRows, z.Rows), classes)
	for from := 0; from < z.Rows; from += gramRows {
		if err := cancelled(ctx); err != nil {
			return err
		}
		rows := dense.Rows(z, from, min(from+gramRows, z.Rows))
		norms := dense.SquaredNorms(rows)
		k, y := dense.Rows(k, 0, rows.Rows), dense.Rows(y, 0, rows.Rows)
		clear(y.Data)
		for i := range y.Rows {
			if to := hard[from+i]; to != Unlabelled {
				out := dense.Row(y, i)
				for c, mean := range s.mean {
					out[c] = -mean
				}
				out[to]++
			}
		}
		forTiles(m, func(low, high int) {
			tile := dense.Columns(k, low, high)
			s.rbf.Block(tile, rows, norms, dense.Rows(s.landmarks, low, high), s.norms[low:high])
			for i := range tile.Rows {
				if hard[from+i] == Unlabelled {
					clear(dense.Row(tile, i))
				}
			}
		})
		forTiles(m, func(low, high int) { // on and above the diagonal
			const strip = 64 // shorter than a tile, so that little is computed below the diagonal
			for from := low; from < high; from += strip {
				to := min(from+strip, high)
				dense.AddATB(dense.Columns(dense.Rows(s.gram, from, to), from, m), dense.Columns(k, from, to), dense.Columns(k, from, m))
			}
			dense.AddATB(dense.Rows(s.target, low, high), dense.Columns(k, low, high), y)
		})
	}
	return nil
}

func (s *ridgeSums) half() *ridgeSums {
	var places []int
	for i := 0; i < s.landmarks.Rows; i += 2 {
		places = append(places, i)
	}
	out := &ridgeSums{ridge: s.ridge, gram: dense.New(len(places), len(places)), target: dense.Pick(s.target, places)}
	out.landmarks, out.norms = dense.Pick(s.landmarks, places), make([]float32, len(places))
	for i, place := range places {
		out.norms[i] = s.norms[place]
		sums := dense.Row(s.gram, place)
		for j, other := range places[i:] {
			dense.Row(out.gram, i)[i+j] = sums[other]
		}
	}
	return out
}

func (s *ridgeSums) solve(lambdas []float64) ([]*ridge, error) {
	inner := s.inner()
	fitted := make([]*ridge, len(lambdas))
	for i, lambda := range lambdas {
		one := s.ridge
		var err error
		if one.coef, err = solve(s.gram, inner, s.target, lambda); err != nil {
			return nil, err
		}
		fitted[i] = &one
	}
	return fitted, nil
}

func forTiles(n int, do func(low, high int)) {
	const tile = 256
	parallel.Each(0, (n+tile-1)/tile, func(_, t int) { do(t*tile, min((t+1)*tile, n)) })
}

func (r *ridge) inner() Matrix {
	m := r.landmarks.Rows
	k := dense.New(m, m)
	forTiles(m, func(low, high int) {
		tile := dense.Columns(dense.Rows(k, low, high), low, m)
		r.rbf.Block(tile, dense.Rows(r.landmarks, low, high), r.norms[low:high], dense.Rows(r.landmarks, low, m), r.norms[low:])
	})
	return k
}

func (r *ridge) interpolate(labels, column []int, classes int, lambda float32) error {
	system := r.inner()
	r.coef, r.mean = dense.New(len(labels), classes), slices.Repeat([]float32{.5}, classes)
	for i, y := range labels {
		system.Data[i*system.Stride+i] = 1 + lambda // exact, while |x-x|² would have rounding errors
		out := dense.Row(r.coef, i)
		for c := range out {
			out[c] = -.5
		}
		out[column[y]] = .5
	}
	factor, ok := dense.Factorize(system)
	if !ok {
		return errSingular
	}
	factor.Solve(r.coef)
	return nil
}

// solve returns (gram + lambda·inner + floor·I)⁻¹ target, with a small floor > 0.
func solve(gram, inner, target Matrix, lambda float64) (Matrix, error) {
	// It reads only the upper triangles. As long as the matrix in brackets is not positive definite after
	// rounding, solve multiplies floor by 10.
	m := inner.Rows
	trace := 0.
	for i := range m {
		trace += float64(gram.Data[i*gram.Stride+i])
	}
	system := dense.New(m, m)
	for floor := ridgeFloor * (trace/float64(m) + lambda); ; floor *= 10 {
		for i := range m {
			sum, add, out := dense.Row(gram, i)[i:], dense.Row(inner, i)[i:], dense.Row(system, i)[i:]
			for j, v := range sum {
				out[j] = v + float32(lambda)*add[j]
			}
			out[0] += float32(floor)
		}
		if factor, ok := dense.Factorize(system); ok {
			out := dense.New(m, target.Cols)
			copy(out.Data, target.Data)
			factor.Solve(out)
			return out, nil
		}
		if !(floor < trace+lambda) {
			return Matrix{}, errSingular
		}
	}
}

func (r *ridge) scores(ctx context.Context, z Matrix) (Matrix, error) {
	out := dense.New(z.Rows, len(r.mean))
	err := forBlocks(ctx, z.Rows, func(scratch *Matrix, from, to int) {
		block, rows := dense.Rows(out, from, to), dense.Rows(z, from, to)
		k := resized(scratch, rows.Rows, r.landmarks.Rows)
		r.rbf.Block(k, rows, dense.SquaredNorms(rows), r.landmarks, r.norms)
		dense.MulAB(block, k, r.coef)
		for i := range block.Rows {
			for c, mean := range r.mean {
				block.Data[i*block.Stride+c] += mean
			}
		}
	})
	return out, err
}
