package plain

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/internal/mathx"
)

// Model gives each row of features a score for each class. One part is set.
type Model struct {
	Constant *Constant `json:"constant,omitempty"`
	Linear   *Linear   `json:"linear,omitempty"`
	Kernel   *Kernel   `json:"kernel,omitempty"`
	Trees    *Trees    `json:"trees,omitempty"`
	Mean     *Mean     `json:"mean,omitempty"`
}

// Describer is implemented by fitted classifiers with a plain form, which has the scores of the classifier,
// up to rounding and to the comment of each part.
type Describer interface {
	Plain() *Model
}

// Constant has the score 1 for one class.
type Constant struct {
	Class int `json:"class"`
}

// Linear is softmax regression: the scores are the softmax of weights·x + bias.
type Linear struct {
	Classes []int       `json:"classes"` // of each row of Weights, ascending; others score 0
	Weights [][]float64 `json:"weights"` // classes x features
	Bias    []float64   `json:"bias"`    // of each of Classes
}

// Mean is a weighted mean of the probabilities of models. Scores become probabilities as follows: they are
// cut to [0, 1] and divided by their sum, if that is above 0; each p becomes (p + Doubt)^power; and they
// are divided by their sum again.
type Mean struct {
	Doubt   float64  `json:"doubt"`
	Members []Member `json:"members"`
}

// Member is one model of a mean.
type Member struct {
	Name   string  `json:"name"`   // for people
	Power  float64 `json:"power"`  // below 1 for a model that is too sure
	Weight float64 `json:"weight"` // in the mean; the sum of all is 1
	Model  Model   `json:"model"`
}

const (
	maxMembers = 64
	maxDepth   = 4 // of means of means
)

// Check reports the first part of a model that does not fit this number of features and of classes.
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

// checkClasses reports classes that do not ascend or are out of range.
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

// Widen returns the rows of a float32 matrix with this stride.
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
