package trees

import (
	"context"
	"fmt"
	"slices"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/plain"
	"github.com/pate-go/pate/teachers"
)

type node struct {
	column int32   // column to test, or leaf
	right  int32   // right child, or the index of a forest's leaf
	at     float32 // values up to at go left; in a leaf of a booster, the leaf's value
}

const leaf = -1

// router sends all rows through a tree together, so that each node is read once.
type router struct {
	columns     teachers.Matrix // a row for each column of the data
	rows, spare []int32
	use         func(leaf *node, rows []int32) // called once for each leaf with rows
}

func newRouter(x teachers.Matrix, use func(leaf *node, rows []int32)) *router {
	r := &router{columns: dense.New(x.Cols, x.Rows), rows: make([]int32, x.Rows), spare: make([]int32, x.Rows), use: use}
	for i := range x.Rows {
		for j, v := range dense.Row(x, i) {
			r.columns.Data[j*x.Rows+i] = v
		}
	}
	return r
}

func (r *router) tree(nodes []node, root int32) {
	for i := range r.rows {
		r.rows[i] = int32(i)
	}
	r.from(nodes, root, r.rows)
}

func (r *router) from(nodes []node, at int32, rows []int32) {
	for len(rows) > 0 {
		n := &nodes[at]
		if n.column == leaf {
			r.use(n, rows)
			return
		}
		middle := part(rows, r.spare, dense.Row(r.columns, int(n.column)), n.at)
		r.from(nodes, at+1, rows[:middle])
		at, rows = n.right, rows[middle:]
	}
}

// part moves the rows r with values[r] <= below to the front, and returns their number. The rows keep their
// order in each part. The buffer spare must have at least len(rows) elements. Inlining would cost registers.
//
//go:noinline
func part[T uint8 | float32](rows, spare []int32, values []T, below T) int {
	left := 0
	for i, r := range rows { // without branches, because most would be predicted wrongly
		rows[left], spare[i-left] = r, r
		goes := 0
		if values[r] <= below {
			goes = 1
		}
		left += goes
	}
	copy(rows[left:], spare)
	return left
}

type ensemble struct {
	teachers.ScoreModel
	nodes []node
	roots []int32
	score func(scores, x teachers.Matrix) // writes one score for each class present
}

// blockRows bounds the rows scored at once. A power of 2 would make columns compete for cache lines.
const blockRows = 2000

// fit returns m, which must embed e, or a constant model.
func fit(ctx context.Context, name string, m teachers.Classifier, e *ensemble, data teachers.Dataset, bins int,
	grow func(b *binned, class []int32) error) (teachers.Classifier, error) {
	if err := data.Validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("trees: %s: %w", name, err)
	}
	if c, ok := teachers.Constant(data); ok {
		return c, nil
	}
	present, class := dense.Present[int32](data.Y, data.Classes)
	e.ScoreModel = teachers.ScoreModel{
		Name: "trees", Features: data.X.Cols, Classes: data.Classes, Present: present, Rows: blockRows,
		Score: func(dst, x teachers.Matrix) error {
			e.score(dst, x)
			return nil
		},
	}
	b, err := newBinned(ctx, data.X, bins)
	if err == nil {
		err = grow(b, class)
	}
	if err != nil {
		return nil, fmt.Errorf("trees: %s: %w", name, err)
	}
	return m, nil
}

func (e *ensemble) plain() *plain.Trees {
	t := &plain.Trees{Classes: slices.Clone(e.Present)}
	for _, root := range e.roots {
		t.Roots = append(t.Roots, int(root))
	}
	for _, n := range e.nodes {
		t.Column = append(t.Column, int(n.column))
		t.Threshold = append(t.Threshold, float64(n.at))
		t.Right = append(t.Right, int(n.right))
	}
	return t
}

func (m *forest) Plain() *plain.Model {
	t := m.ensemble.plain()
	for _, end := range m.ends {
		t.Ends = append(t.Ends, int(end))
	}
	for _, l := range m.leaves {
		t.LeafClass = append(t.LeafClass, int(l.class))
		t.Share = append(t.Share, float64(l.share))
	}
	return &plain.Model{Trees: t}
}

func (m *booster) Plain() *plain.Model {
	t := m.ensemble.plain()
	t.Prior = plain.Wide(m.prior)
	return &plain.Model{Trees: t}
}
