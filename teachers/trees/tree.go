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

// part moves the rows whose bin is at most below to the front, and returns their number. Both parts keep
// their order. The buffer spare must be at least as long as rows.
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

// ensemble is the common part of fitted forests and boosters. Forests score classes by mean leaf frequencies,
// and boosters by probabilities.
type ensemble struct {
	teachers.ScoreModel
	nodes []node
	roots []int32
	score func(scores, row []float32) // writes one score for each class present
}

// fit validates the data, puts the values into bins, and calls grow to add the trees. The model m embeds e.
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
		Name: "trees", Features: data.X.Cols, Classes: data.Classes, Present: present,
		Score: func(dst, x teachers.Matrix) error {
			for i := range x.Rows {
				e.score(dense.Row(dst, i), dense.Row(x, i))
			}
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
