package plain

import (
	"errors"
	"fmt"
)

// Trees are decision trees, all in the same arrays, each in preorder. From node i a row goes to node i+1 if
// its feature Column_i, as float32, is at most Threshold_i, else to node Right_i. A node whose column is -1
// is a leaf.
//
// In a forest, Right of a leaf is its number, the leaf's classes lie between the Ends before and at that
// number, and a class scores the mean over the trees of its share in the leaf. In boosted trees, which have
// a Prior, Threshold of a leaf is its value: tree t adds it to logit t modulo the number of logits, which
// start at Prior, and the scores are the softmax of the logits. A single logit is the second class's
// against the first.
type Trees struct {
	Classes   []int     `json:"classes"` // that shares and logits are of; others score 0
	Roots     []int     `json:"roots"`   // node of each tree, ascending from 0
	Column    []int     `json:"column"`
	Threshold []float64 `json:"threshold"`
	Right     []int     `json:"right"`
	Ends      []int     `json:"ends,omitempty"`       // of each leaf of a forest
	LeafClass []int     `json:"leaf_class,omitempty"` // index into Classes
	Share     []float64 `json:"share,omitempty"`
	Prior     []float64 `json:"prior,omitempty"`
}

func (t *Trees) check(features, classes int) error {
	n := len(t.Column)
	switch err := checkClasses(t.Classes, classes); {
	case err != nil:
		return err
	case n == 0 || len(t.Right) != n || len(t.Roots) == 0 || t.Roots[0] != 0:
		return errors.New("trees: nodes, columns and roots do not fit")
	case len(t.Prior) == 1 && len(t.Classes) != 2, len(t.Prior) > 1 && len(t.Prior) != len(t.Classes):
		return fmt.Errorf("trees: %d logits of %d classes", len(t.Prior), len(t.Classes))
	}
	if err := errors.Join(checkNumbers("threshold", t.Threshold, n), checkNumbers("share", t.Share, len(t.LeafClass)),
		checkNumbers("prior", t.Prior, len(t.Prior))); err != nil {
		return err
	}
	if len(t.Prior) == 0 {
		if err := t.checkLeaves(); err != nil {
			return err
		}
	}
	for i, root := range t.Roots {
		end := n
		if i+1 < len(t.Roots) {
			end = t.Roots[i+1]
		}
		if root < 0 || root >= end || end > n {
			return fmt.Errorf("trees: tree %d is nodes %d to %d of %d", i, root, end, n)
		}
		if err := t.checkNodes(root, end, features); err != nil {
			return err
		}
	}
	return nil
}

// checkNodes reports nodes of one tree from which a walk would not go forward to a leaf.
func (t *Trees) checkNodes(from, to, features int) error {
	for i := from; i < to; i++ {
		column, right := t.Column[i], t.Right[i]
		switch {
		case column == -1 && len(t.Prior) == 0 && (right < 0 || right >= len(t.Ends)):
			return fmt.Errorf("trees: node %d is leaf %d of %d", i, right, len(t.Ends))
		case column == -1:
		case column < 0 || column >= features:
			return fmt.Errorf("trees: node %d asks for feature %d of %d", i, column, features)
		case i+1 >= to || right <= i || right >= to:
			return fmt.Errorf("trees: node %d leads out of its tree", i)
		}
	}
	return nil
}

func (t *Trees) checkLeaves() error {
	last := 0
	for i, end := range t.Ends {
		if end < last || end > len(t.LeafClass) {
			return fmt.Errorf("trees: leaf %d ends at %d after %d, of %d", i, end, last, len(t.LeafClass))
		}
		last = end
	}
	for _, c := range t.LeafClass {
		if c < 0 || c >= len(t.Classes) {
			return fmt.Errorf("trees: a leaf has class %d of %d", c, len(t.Classes))
		}
	}
	return nil
}
