package plain

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// Model scores each class for every row of features. Exactly one field is set.
type Model struct {
	Constant *Constant `json:"constant,omitempty"`
	Linear   *Linear   `json:"linear,omitempty"`
	Kernel   *Kernel   `json:"kernel,omitempty"`
	Trees    *Trees    `json:"trees,omitempty"`
	Mean     *Mean     `json:"mean,omitempty"`
}

// Describer is a fitted classifier that has an equivalent [Model]. The scores are equal up to rounding. The
// comment of a method Plain must state any other difference.
type Describer interface {
	Plain() *Model
}

// Constant gives score 1 to Class and 0 to all other classes.
type Constant struct {
	Class int `json:"class"`
}

// Linear is a softmax regression. The scores are the softmax of Weights·x + Bias.
type Linear struct {
	Classes []int       `json:"classes"` // class of each row of Weights, ascending; other classes score 0
	Weights [][]float64 `json:"weights"` // classes x features
	Bias    []float64   `json:"bias"`    // one for each of Classes
}

// Mean is a weighted mean of the class probabilities of several models. A model's probabilities are
// proportional to (p + Doubt)^Power. Here p are its scores, clipped to [0, 1] and scaled to sum 1.
type Mean struct {
	Doubt   float64  `json:"doubt"`
	Members []Member `json:"members"`
}

type Member struct {
	Name   string  `json:"name"`   // for display
	Power  float64 `json:"power"`  // below 1 for an overconfident model
	Weight float64 `json:"weight"` // weights add up to 1
	Model  Model   `json:"model"`
}

const (
	maxMembers = 64
	maxDepth   = 4 // of nested means
)

// Check returns an error if the model is invalid for rows with this number of features, or for this number of
// classes.
func (m *Model) Check(features, classes int) error {
	if features < 1 || classes < 2 {
		return fmt.Errorf("plain: %d features and %d classes", features, classes)
	}
	if err := m.check(features, classes, 0); err != nil {
		return fmt.Errorf("plain: %w", err)
	}
	return nil
}

func (m *Model) check(features, classes, depth int) error {
	parts := 0
	var err error
	for _, part := range []struct {
		set   bool
		check func() error
	}{
		{m.Constant != nil, func() error { return m.Constant.check(classes) }},
		{m.Linear != nil, func() error { return m.Linear.check(features, classes) }},
		{m.Kernel != nil, func() error { return m.Kernel.check(features, classes) }},
		{m.Trees != nil, func() error { return m.Trees.check(features, classes) }},
		{m.Mean != nil, func() error { return m.Mean.check(features, classes, depth) }},
	} {
		if part.set {
			parts++
			err = errors.Join(err, part.check())
		}
	}
	if parts != 1 {
		return fmt.Errorf("a model of %d parts, not one", parts)
	}
	return err
}

func (c *Constant) check(classes int) error {
	if c.Class < 0 || c.Class >= classes {
		return fmt.Errorf("the constant class %d of %d", c.Class, classes)
	}
	return nil
}

func (l *Linear) check(features, classes int) error {
	if err := checkClasses(l.Classes, classes); err != nil {
		return err
	}
	return errors.Join(checkMatrix("weights", l.Weights, len(l.Classes), features), checkNumbers("bias", l.Bias, len(l.Classes)))
}

func (m *Mean) check(features, classes, depth int) error {
	switch {
	case len(m.Members) == 0 || len(m.Members) > maxMembers:
		return fmt.Errorf("a mean of %d models", len(m.Members))
	case depth >= maxDepth:
		return errors.New("means of means of means are too deep")
	case !(m.Doubt > 0 && m.Doubt <= 1):
		return fmt.Errorf("the doubt of a mean is %v", m.Doubt)
	}
	for i := range m.Members {
		member := &m.Members[i]
		if !(member.Power > 0 && member.Power <= 1<<10) {
			return fmt.Errorf("model %q has the power %v", member.Name, member.Power)
		}
		if !(member.Weight >= 0 && member.Weight <= 1+1e-9) {
			return fmt.Errorf("model %q has the weight %v", member.Name, member.Weight)
		}
		if err := member.Model.check(features, classes, depth+1); err != nil {
			return fmt.Errorf("model %q: %w", member.Name, err)
		}
	}
	return nil
}

func checkClasses(of []int, classes int) error {
	last := -1
	for _, c := range of {
		if c <= last || c >= classes {
			return fmt.Errorf("classes %d after %d, of %d", c, last, classes)
		}
		last = c
	}
	if last < 0 {
		return errors.New("no classes")
	}
	return nil
}

func checkMatrix(name string, m [][]float64, rows, cols int) error {
	if len(m) != rows {
		return fmt.Errorf("%s: %d rows, want %d", name, len(m), rows)
	}
	for _, row := range m {
		if err := checkNumbers(name, row, cols); err != nil {
			return err
		}
	}
	return nil
}

func checkNumbers(name string, v []float64, n int) error {
	if len(v) != n {
		return fmt.Errorf("%s: %d numbers, want %d", name, len(v), n)
	}
	for _, x := range v {
		if !mathx.IsFinite(x) {
			return fmt.Errorf("%s: %v", name, x)
		}
	}
	return nil
}

// Widen converts a float32 matrix to float64 rows. Rows start every stride elements in data.
func Widen(data []float32, rows, cols, stride int) [][]float64 {
	out := make([][]float64, rows)
	for i := range out {
		out[i] = Wide(data[i*stride : i*stride+cols])
	}
	return out
}

func Wide(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// Kernel is regression on the Gaussian kernel with landmarks:
//
//	z = min(Limit, max(-Limit, (x - Centre)·Scale)) · Directions
//	score of class c = Intercept_c + Σ_j exp(-Gamma |z - Landmark_j|²) Coefficients_jc
//
// If Centre is nil, z is x.
type Kernel struct {
	Classes      []int       `json:"classes"`              // class of each column of Coefficients; other classes score 0
	Centre       []float64   `json:"centre,omitempty"`     // one for each feature
	Scale        float64     `json:"scale,omitempty"`      // one for all features
	Limit        float64     `json:"limit,omitempty"`      // bound on scaled features, for rows far from all landmarks
	Directions   [][]float64 `json:"directions,omitempty"` // features x components
	Gamma        float64     `json:"gamma"`
	Landmarks    [][]float64 `json:"landmarks"`    // landmarks x components
	Coefficients [][]float64 `json:"coefficients"` // landmarks x classes
	Intercept    []float64   `json:"intercept"`
}

func (k *Kernel) check(features, classes int) error {
	if err := checkClasses(k.Classes, classes); err != nil {
		return err
	}
	width := features
	if k.Centre != nil || k.Directions != nil {
		if len(k.Directions) == 0 || len(k.Directions[0]) == 0 {
			return errors.New("directions: none")
		}
		width = len(k.Directions[0])
		if err := errors.Join(checkNumbers("centre", k.Centre, features), checkMatrix("directions", k.Directions, features, width)); err != nil {
			return err
		}
		if !mathx.IsFinite(k.Scale) || !(k.Limit > 0) || !mathx.IsFinite(k.Limit) {
			return fmt.Errorf("scale %v and limit %v", k.Scale, k.Limit)
		}
	}
	if !(k.Gamma >= 0) || math.IsInf(k.Gamma, 1) || len(k.Landmarks) == 0 {
		return fmt.Errorf("gamma %v and %d landmarks", k.Gamma, len(k.Landmarks))
	}
	return errors.Join(checkMatrix("landmarks", k.Landmarks, len(k.Landmarks), width),
		checkMatrix("coefficients", k.Coefficients, len(k.Landmarks), len(k.Classes)), checkNumbers("intercept", k.Intercept, len(k.Classes)))
}

// Trees are decision trees. The arrays hold the nodes of all trees, each tree in preorder. Node i compares
// feature Column[i] of a row, as float32, with Threshold[i]. If the feature is at most the threshold, the row
// goes to node i+1, and otherwise to node Right[i]. A node with column -1 is a leaf.
//
// In a forest, leaf node i has the number k = Right[i], counted from 0 over all trees. Leaf k has
// LeafClass[j] and Share[j] for Ends[k-1] <= j < Ends[k]. Here Ends[-1] is 0. The score of a class is its
// Share in the row's leaf, averaged over the trees.
//
// If Prior is set, the trees are boosted, and Prior holds the n initial logits. Tree t adds the Threshold of
// the row's leaf to logit t mod n. Scores are the softmax of the logits. A single logit is the log odds of
// the second class.
type Trees struct {
	Classes   []int     `json:"classes"` // classes of LeafClass and Prior; other classes score 0
	Roots     []int     `json:"roots"`   // root node of each tree, ascending from 0
	Column    []int     `json:"column"`
	Threshold []float64 `json:"threshold"`
	Right     []int     `json:"right"`
	Ends      []int     `json:"ends,omitempty"`       // end of each leaf of a forest
	LeafClass []int     `json:"leaf_class,omitempty"` // classes of the leaves, as indices into Classes
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
