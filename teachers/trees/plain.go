package trees

import (
	"slices"

	"github.com/pate-go/pate/internal/plain"
)

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
