package quota

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/parallel"
)

const (
	questionsAtOnce = 64
	rowsAtOnce      = 192 // private rows per product
	unitsAtOnce     = 1024
)

type voters struct {
	x       dense.Matrix
	y       []int
	norms   []float64 // squared norm of each row
	starts  []int     // unit u has the rows [starts[u], starts[u+1])
	cast    []uint16  // votes of each unit so far
	most    uint16
	classes int
}

func newVoters(rows neighbours.Rows, cfg Config) (*voters, error) {
	switch {
	case len(rows.Y) != rows.X.Rows || len(rows.Units) != rows.X.Rows:
		return nil, errors.New("quota: rows, classes and units differ in number")
	case rows.Classes != cfg.Classes:
		return nil, fmt.Errorf("quota: private rows have %d classes, but the mechanism has %d", rows.Classes, cfg.Classes)
	}
	if err := dense.Check(rows.X); err != nil {
		return nil, fmt.Errorf("quota: %w", err)
	}
	for _, y := range rows.Y {
		if y < 0 || y >= rows.Classes {
			return nil, fmt.Errorf("quota: a class is not in [0, %d)", rows.Classes)
		}
	}
	of := dense.Groups(rows.Units)
	v := &voters{starts: make([]int, 1, len(of)+1), cast: make([]uint16, len(of)), most: uint16(cfg.Votes), classes: cfg.Classes}
	order := make([]int, 0, len(rows.Units))
	for _, rows := range of {
		order = append(order, rows...)
		v.starts = append(v.starts, len(order))
	}
	v.x, v.y, v.norms = dense.Pick(rows.X, order), make([]int, len(order)), make([]float64, len(order))
	for at, i := range order {
		v.y[at] = rows.Y[i]
	}
	kernel.SquaredNorms(v.norms, v.x.Data, v.x.Stride, v.x.Rows, v.x.Cols)
	return v, nil
}

// Cast counts the votes for each class on each question, without noise. The private result is grouped by
// question.
func Cast(ctx context.Context, private neighbours.Rows, cfg Config, questions []Question) ([]int64, error) {
	v, err := newVoters(private, cfg)
	if err != nil {
		return nil, err
	}
	return v.vote(ctx, questions)
}

// vote counts the votes for each class, grouped by question. Units use up their votes in the order of the
// questions.
func (v *voters) vote(ctx context.Context, questions []Question) ([]int64, error) {
	for i, q := range questions {
		switch {
		case len(q.Row) != v.x.Cols:
			return nil, fmt.Errorf("quota: question %d has %d features, but private rows have %d", i, len(q.Row), v.x.Cols)
		case !dense.Finite(q.Row) || !mathx.IsFinite(q.Radius*q.Radius) || q.Radius < 0:
			return nil, fmt.Errorf("quota: question %d or its radius is not finite, or the radius is negative", i)
		}
	}
	counts := make([]int64, 0, len(questions)*v.classes)
	for from := 0; from < len(questions); from += questionsAtOnce {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		counts = append(counts, v.voteAt(questions[from:min(from+questionsAtOnce, len(questions))])...)
	}
	return counts, nil
}

func (v *voters) voteAt(questions []Question) []int64 {
	p := newPanel(questions, v.x.Cols)
	units := len(v.cast)
	parts := (units + unitsAtOnce - 1) / unitsAtOnce
	counts := make([][]int64, parts) // one per worker
	found := make([]finder, parts)
	parallel.Each(0, parts, func(w, part int) {
		if counts[w] == nil {
			counts[w] = make([]int64, len(questions)*v.classes)
			found[w] = finder{products: make([]float32, rowsAtOnce*len(questions)), near: make([][]voter, len(questions))}
		}
		from, to := part*unitsAtOnce, min((part+1)*unitsAtOnce, units)
		found[w].find(v, p, from, to)
		for q, near := range found[w].near {
			v.count(counts[w][q*v.classes:(q+1)*v.classes], near)
		}
	})
	sum := make([]int64, len(questions)*v.classes)
	for _, c := range counts {
		for i, n := range c {
			sum[i] += n
		}
	}
	return sum
}

// count adds one vote for each near unit that has votes left. The time does not depend on the number of votes
// left.
func (v *voters) count(counts []int64, near []voter) {
	for _, n := range near {
		one := (uint32(v.cast[n.unit]) - uint32(v.most)) >> 31 // 1 if votes are left
		counts[n.class] += int64(one)
		v.cast[n.unit] += uint16(one)
	}
}

// voter is a unit within the radius of a question, with the class and distance of its nearest row.
type voter struct {
	unit, class int
	squared     float64 // squared distance
}

type panel struct {
	questions []Question
	packed    kernel.Packed[float32]
	halves    []float32 // half of the squared norm less the squared radius, rounded down
	largest   float64   // largest sum of a squared norm and a squared radius
}

func newPanel(questions []Question, columns int) *panel {
	p := &panel{questions: questions, halves: make([]float32, len(questions))}
	rows := dense.New(len(questions), columns)
	for i, q := range questions {
		copy(dense.Row(rows, i), q.Row)
		norm, square := kernel.SquaredNorm(q.Row), q.Radius*q.Radius
		p.halves[i], p.largest = mathx.Below((norm-square)/2), math.Max(p.largest, norm+square)
	}
	p.packed.PackBT(rows.Data, rows.Stride, rows.Rows, rows.Cols)
	return p
}

type finder struct {
	products []float32
	near     [][]voter // of each question
}

// find sets f.near[q] to the units in [from, to) within the radius of question q. Products in float32
// exclude only rows that are certainly too far. Distances of all other rows are computed in float64, in a
// fixed order of operations. So the result for a question does not depend on the other questions or on
// the machine.
func (f *finder) find(v *voters, p *panel, from, to int) {
	n := len(p.questions)
	for q := range f.near {
		f.near[q] = f.near[q][:0]
	}
	unit := from
	for first := v.starts[from]; first < v.starts[to]; first += rowsAtOnce {
		last := min(first+rowsAtOnce, v.starts[to])
		p.packed.Mul(f.products, n, v.x.Data[first*v.x.Stride:], v.x.Stride, last-first)
		for i := first; i < last; i++ {
			for i >= v.starts[unit+1] {
				unit++
			}
			products, floor := f.products[(i-first)*n:(i-first+1)*n], v.floor(i, p)
			for q := 0; ; q++ {
				if q += kernel.NotBelow(products[q:], p.halves[q:], floor); q == n {
					break
				}
				f.offer(q, p.questions[q], voter{unit, v.y[i], distance(dense.Row(v.x, i), p.questions[q].Row)})
			}
		}
	}
}

func (f *finder) offer(q int, question Question, row voter) {
	if !(row.squared <= question.Radius*question.Radius) {
		return
	}
	near := f.near[q]
	if last := len(near) - 1; last >= 0 && near[last].unit == row.unit {
		if row.squared < near[last].squared {
			near[last] = row
		}
		return
	}
	f.near[q] = append(near, row)
}

// floor returns a limit for row i. Let s be the float32 inner product of the row with question q, minus
// p.halves[q]. If s is below the limit and no float32 operation overflowed or underflowed, the row is outside
// the radius of q.
//
// Proof. Let N and T be the squared norms of row and question, R the radius, and P the exact inner product.
// Let h = (T - R^2)/2, which p.halves[q] approximates. The row is inside exactly if P - h >= N/2. A sum of
// cols products has at most cols+1 roundings, and |row| |question| <= (N+T)/2. So the computed product
// differs from P by at most (cols+8) 2^-24 (N+T)/2. The roundings of h (to p.halves[q]) and of the difference
// are at most 2^-23 (N+T+R^2) together. The limit is N/2 - e, where e exceeds the sum of both bounds.
func (v *voters) floor(i int, p *panel) float32 {
	norm := v.norms[i]
	return mathx.Below(norm/2 - float64(v.x.Cols+16)*0x1p-23*(norm+p.largest))
}

func distance(a, b []float32) (squared float64) {
	for i, v := range a {
		d := float64(v) - float64(b[i])
		squared += float64(d * d)
	}
	return squared
}
