package trees

import (
	"context"
	"fmt"
	"slices"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/plain"
	"github.com/pate-go/pate/teachers"
)

// node is one node of a tree. Trees lie one after the other in one slice, each in preorder, so that the
// left child of node i is node i+1.
type node struct {
	column int32   // asked for; leaf for leaves
	right  int32   // right child; of a leaf of a forest, its place among the leaves
	at     float32 // values up to it go left; of a leaf of a booster, its value
}

const leaf = -1

// walk returns the leaf of the tree at root that x falls into.
func walk(nodes []node, root int32, x []float32) *node {
	i := root
	for {
		n := &nodes[i]
		switch {
		case n.column == leaf:
			return n
		case x[n.column] <= n.at:
			i++
		default:
			i = n.right
		}
	}
}

// part puts rows up to this bin first and returns their number. On each side the order stays. Spare is as
// long as rows at least.
func part(rows, spare []int32, bin []uint8, below uint8) int {
	middle, others := 0, spare[:0]
	for _, r := range rows {
		if bin[r] <= below {
			rows[middle] = r
			middle++
		} else {
			others = append(others, r)
		}
	}
	copy(rows[middle:], others)
	return middle
}

// ensemble is the common part of fitted forests and boosters: they score the classes that the share had and
// answer the best, the lowest of equals.
type ensemble struct {
	features int
	classes  int
	present  []int // class of each score, ascending
	nodes    []node
	roots    []int32
	score    func(scores, row []float32) // fills one score for each class present
}

// fit checks a share, cuts its columns into bins and grows the trees of m, which e is a part of.
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
	e.features, e.classes, e.present = data.X.Cols, data.Classes, present
	b, err := newBinned(ctx, data.X, bins)
	if err == nil {
		err = grow(b, class)
	}
	if err != nil {
		return nil, fmt.Errorf("trees: %s: %w", name, err)
	}
	return m, nil
}

// each calls answer with the scores of every row.
func (e *ensemble) each(x teachers.Matrix, answer func(i int, scores []float32)) {
	scores := make([]float32, len(e.present))
	for i := range x.Rows {
		e.score(scores, dense.Row(x, i))
		answer(i, scores)
	}
}

// Predict answers the class with the best score: of a forest the largest mean share in its leaves, of a
// booster the largest probability. See [teachers.Classifier].
func (e *ensemble) Predict(dst []int, x teachers.Matrix) error {
	if err := teachers.ValidateQueries(dst, x, e.features); err != nil {
		return err
	}
	e.each(x, func(i int, scores []float32) { dst[i] = e.present[dense.Argmax(scores)] })
	return nil
}

// Scores gives mean shares or probabilities, which sum to 1, and 0 for classes that the share did not have.
// See [teachers.Scorer].
func (e *ensemble) Scores(dst, x teachers.Matrix) error {
	if dst.Rows != x.Rows || dst.Cols != e.classes || dense.Check(dst) != nil {
		return fmt.Errorf("trees: scores of %d rows and %d classes do not fit into %d x %d", x.Rows, e.classes, dst.Rows, dst.Cols)
	}
	if err := teachers.ValidateQueries(make([]int, x.Rows), x, e.features); err != nil {
		return err
	}
	e.each(x, func(i int, scores []float32) {
		out := dense.Row(dst, i)
		clear(out)
		for k, v := range scores {
			out[e.present[k]] = v
		}
	})
	return nil
}

func (e *ensemble) plain() *plain.Trees {
	t := &plain.Trees{Classes: slices.Clone(e.present)}
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
