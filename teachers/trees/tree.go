package trees

import (
	"fmt"
	"slices"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/plain"
	"github.com/pate-go/pate/teachers"
)

// node is one node of a tree. Trees lie one after the other in one slice, each
// in preorder, so that the left child of node i is node i+1.
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

// part puts rows up to this bin first and returns how many they are. On each
// side the order stays. spare is as long as rows at least.
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

// ensemble is what fitted forests and boosters have in common: they score the
// classes that the share had and answer the best, the lowest of equals.
type ensemble struct {
	features int
	classes  int
	present  []int // class of each score, ascending
	nodes    []node
	roots    []int32
}

// predict calls score for every row; score fills one score for each class
// present.
func (e *ensemble) predict(dst []int, x teachers.Matrix, score func(scores, row []float32)) error {
	if err := teachers.ValidateQueries(dst, x, e.features); err != nil {
		return err
	}
	scores := make([]float32, len(e.present))
	for i := range dst {
		score(scores, dense.Row(x, i))
		dst[i] = e.present[dense.Argmax(scores)]
	}
	return nil
}

// scores writes 0 for classes that the share did not have.
func (e *ensemble) scores(dst, x teachers.Matrix, score func(scores, row []float32)) error {
	if dst.Rows != x.Rows || dst.Cols != e.classes || dense.Check(dst) != nil {
		return fmt.Errorf("trees: scores of %d rows and %d classes do not fit into %d x %d", x.Rows, e.classes, dst.Rows, dst.Cols)
	}
	if err := teachers.ValidateQueries(make([]int, x.Rows), x, e.features); err != nil {
		return err
	}
	scores := make([]float32, len(e.present))
	for i := range x.Rows {
		score(scores, dense.Row(x, i))
		out := dense.Row(dst, i)
		clear(out)
		for k, v := range scores {
			out[e.present[k]] = v
		}
	}
	return nil
}

// plain returns what forests and boosters have in common.
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

// Plain returns the model as data.
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

// Plain returns the model as data.
func (m *booster) Plain() *plain.Model {
	t := m.ensemble.plain()
	t.Prior = plain.Wide(m.prior)
	return &plain.Model{Trees: t}
}
