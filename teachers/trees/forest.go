package trees

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pate-go/pate/teachers"
)

// Forest is a random forest (Breiman 2001). Every tree is grown by the Gini impurity until its leaves are
// pure. Every node tries a random choice of the columns that still vary in it. The forest answers the class
// with the largest mean share in the leaves. Classes that the share does not have are never answered.
type Forest struct {
	Trees      int        // 0 means 100
	Columns    int        // tried at a node; 0 means the square root of their number, rounded up
	MinLeaf    int        // examples of a leaf, counted as often as they were drawn; 0 means 1
	Bins       int        // of a column, 2 to 256; 0 means 256
	Thresholds Thresholds // default [BestThresholds]
}

// Thresholds is how a forest finds the threshold that a node tries in a column.
type Thresholds int

const (
	// BestThresholds are the best of all, and every tree sees a bootstrap sample of the share: random
	// forests. Better on columns of categories.
	BestThresholds Thresholds = iota
	// RandomThresholds are drawn uniformly between the column's values in the node, and every tree sees the
	// whole share: extremely randomised trees (Geurts et al. 2006). Better on numeric columns.
	RandomThresholds
)

func (Forest) Reproducible() bool { return true }

func (l Forest) Fit(ctx context.Context, data teachers.Dataset, rnd *rand.Rand) (teachers.Classifier, error) {
	if l.Thresholds != BestThresholds && l.Thresholds != RandomThresholds {
		return nil, fmt.Errorf("trees: Forest.Thresholds is %d, want BestThresholds or RandomThresholds", l.Thresholds)
	}
	if l.Trees < 0 || l.Columns < 0 || l.MinLeaf < 0 {
		return nil, fmt.Errorf("trees: Forest has a negative field: Trees %d, Columns %d, MinLeaf %d", l.Trees, l.Columns, l.MinLeaf)
	}
	l.Trees, l.MinLeaf = cmp.Or(l.Trees, 100), max(1, l.MinLeaf)
	l.Columns = cmp.Or(l.Columns, int(math.Ceil(math.Sqrt(float64(data.X.Cols)))))
	var err error
	if l.Bins, err = binsOrDefault("Forest", l.Bins, maxBins); err != nil {
		return nil, err
	}
	m := &forest{}
	m.score = m.meanShares
	return fit(ctx, "forest", m, &m.ensemble, data, l.Bins, func(b *binned, class []int32) error {
		g := newGiniGrower(m, b, class, l)
		for range l.Trees {
			if err := g.tree(ctx, rnd); err != nil {
				return err
			}
		}
		return nil
	})
}

type forest struct {
	ensemble
	leaves []classShare // of all leaves, one after the other
	ends   []int32      // where each leaf's classes end
}

// classShare is a class's share of the examples in a leaf.
type classShare struct {
	class int32 // index in present
	share float32
}

// addLeaf keeps a leaf with these weights of classes and returns its place.
func (m *forest) addLeaf(weights []int32, total int32) int32 {
	for k, w := range weights {
		if w > 0 {
			m.leaves = append(m.leaves, classShare{int32(k), float32(w) / float32(total)})
		}
	}
	m.ends = append(m.ends, int32(len(m.leaves)))
	return int32(len(m.ends) - 1)
}

func (m *forest) meanShares(scores, x []float32) {
	clear(scores)
	for _, root := range m.roots {
		place := walk(m.nodes, root, x).right
		from := int32(0)
		if place > 0 {
			from = m.ends[place-1]
		}
		for _, l := range m.leaves[from:m.ends[place]] {
			scores[l.class] += l.share
		}
	}
	for k := range scores {
		scores[k] /= float32(len(m.roots))
	}
}
