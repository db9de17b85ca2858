package plain

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
)

const blockRows = 256

// Scores returns the scores of every row of x as a dense matrix of x.Rows rows and classes columns. The model
// must have passed Check. Scores uses all processors, and returns an error if ctx is done.
func (m *Model) Scores(ctx context.Context, x dense.Matrix, classes int) ([]float64, error) {
	out := make([]float64, x.Rows*classes)
	ready := m.prepare()
	parallel.Each(0, (x.Rows+blockRows-1)/blockRows, func(_, block int) {
		if ctx.Err() == nil {
			from, to := block*blockRows, min((block+1)*blockRows, x.Rows)
			ready(out[from*classes:to*classes], dense.Rows(x, from, to), classes)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("plain: %w", err)
	}
	return out, nil
}

type scorer func(dst []float64, x dense.Matrix, classes int)

// prepare returns a [scorer] that several goroutines may call.
func (m *Model) prepare() scorer {
	switch {
	case m.Constant != nil:
		return m.Constant.score
	case m.Linear != nil:
		return m.Linear.prepare()
	case m.Kernel != nil:
		return m.Kernel.prepare()
	case m.Trees != nil:
		return m.Trees.score
	}
	return m.Mean.prepare()
}

func (c *Constant) score(dst []float64, x dense.Matrix, classes int) {
	for i := range x.Rows {
		dst[i*classes+c.Class] = 1
	}
}

func (l *Linear) prepare() scorer {
	weights := packed(l.Weights)
	return func(dst []float64, x dense.Matrix, classes int) {
		scores := general(x.Rows, len(l.Classes))
		blas64.Gemm(blas.NoTrans, blas.Trans, 1, wide(x), weights, 0, scores)
		for i := range x.Rows {
			logits := scores.Data[i*scores.Stride : i*scores.Stride+scores.Cols]
			for c, b := range l.Bias {
				logits[c] += b
			}
			softmax(logits)
			spread(dst[i*classes:], logits, l.Classes)
		}
	}
}

func (k *Kernel) prepare() scorer {
	landmarks, coefficients := packed(k.Landmarks), packed(k.Coefficients)
	var directions blas64.General
	if k.Directions != nil {
		directions = packed(k.Directions)
	}
	norms := squaredNorms(landmarks)
	return func(dst []float64, x dense.Matrix, classes int) {
		z := wide(x)
		if k.Directions != nil {
			for i, v := range z.Data {
				z.Data[i] = min(k.Limit, max(-k.Limit, (v-k.Centre[i%z.Cols])*k.Scale))
			}
			projected := general(z.Rows, directions.Cols)
			blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, z, directions, 0, projected)
			z = projected
		}
		near := general(z.Rows, landmarks.Rows)
		blas64.Gemm(blas.NoTrans, blas.Trans, 1, z, landmarks, 0, near)
		own := squaredNorms(z)
		for i := range near.Rows {
			row := near.Data[i*near.Stride : i*near.Stride+near.Cols]
			for j, dot := range row {
				row[j] = math.Exp(-k.Gamma * max(0, own[i]+norms[j]-2*dot))
			}
		}
		scores := general(z.Rows, coefficients.Cols)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, near, coefficients, 0, scores)
		for i := range scores.Rows {
			row := scores.Data[i*scores.Stride : i*scores.Stride+scores.Cols]
			for c, b := range k.Intercept {
				row[c] += b
			}
			spread(dst[i*classes:], row, k.Classes)
		}
	}
}

func (t *Trees) score(dst []float64, x dense.Matrix, classes int) {
	scores := make([]float64, max(len(t.Classes), len(t.Prior)))
	for i := range x.Rows {
		row := dense.Row(x, i)
		clear(scores)
		copy(scores, t.Prior)
		for tree, root := range t.Roots {
			leaf := t.walk(root, row)
			if len(t.Prior) > 0 {
				scores[tree%len(t.Prior)] += t.Threshold[leaf]
				continue
			}
			place, from := t.Right[leaf], 0
			if place > 0 {
				from = t.Ends[place-1]
			}
			for e := from; e < t.Ends[place]; e++ {
				scores[t.LeafClass[e]] += t.Share[e] / float64(len(t.Roots))
			}
		}
		if len(t.Prior) > 0 {
			if len(t.Prior) == 1 {
				scores[0], scores[1] = 0, scores[0]
			}
			softmax(scores)
		}
		spread(dst[i*classes:], scores, t.Classes)
	}
}

func (t *Trees) walk(i int, row []float32) int {
	for t.Column[i] != -1 {
		if float64(row[t.Column[i]]) <= t.Threshold[i] {
			i++
		} else {
			i = t.Right[i]
		}
	}
	return i
}

func (m *Mean) prepare() scorer {
	members := make([]scorer, len(m.Members))
	for k := range members {
		members[k] = m.Members[k].Model.prepare()
	}
	return func(dst []float64, x dense.Matrix, classes int) {
		one := make([]float64, x.Rows*classes)
		for k, score := range members {
			clear(one)
			score(one, x, classes)
			for i := range x.Rows {
				p := one[i*classes : (i+1)*classes]
				m.temper(p, m.Members[k].Power)
				for c, v := range p {
					dst[i*classes+c] += m.Members[k].Weight * v
				}
			}
		}
	}
}

func (m *Mean) temper(p []float64, power float64) {
	for c, v := range p {
		p[c] = max(0, min(1, v))
	}
	normalise(p)
	for c, v := range p {
		p[c] = math.Pow(v+m.Doubt, power)
	}
	normalise(p)
}

func normalise(p []float64) {
	var sum float64
	for _, v := range p {
		sum += v
	}
	if sum > 0 {
		for c := range p {
			p[c] /= sum
		}
	}
}

func softmax(v []float64) {
	top := slices.Max(v)
	for i, x := range v {
		v[i] = math.Exp(x - top)
	}
	normalise(v)
}

func spread(dst, scores []float64, of []int) {
	for k, c := range of {
		dst[c] = scores[k]
	}
}

func general(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
}

func packed(m [][]float64) blas64.General {
	return blas64.General{Rows: len(m), Cols: len(m[0]), Stride: len(m[0]), Data: slices.Concat(m...)}
}

func wide(x dense.Matrix) blas64.General {
	out := general(x.Rows, x.Cols)
	for i := range x.Rows {
		copy(out.Data[i*out.Stride:], Wide(dense.Row(x, i)))
	}
	return out
}

func squaredNorms(m blas64.General) []float64 {
	out := make([]float64, m.Rows)
	for i, v := range m.Data {
		out[i/m.Stride] += v * v
	}
	return out
}
