package student

import (
	"fmt"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

// mixture is a mean of its members' probabilities.
type mixture struct {
	members           []member
	names             []string
	powers            []float64 // of each one, see temper
	weights           []float64 // of each one; their sum is 1
	features, classes int
}

type member interface {
	teachers.Classifier
	teachers.Scorer
}

// Predict answers the class with the largest mean. See teachers.Classifier.
func (m *mixture) Predict(dst []int, x Matrix) error {
	if err := teachers.ValidateQueries(dst, x, m.features); err != nil {
		return err
	}
	scores := dense.New(x.Rows, m.classes)
	if err := m.Scores(scores, x); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = dense.Argmax(dense.Row(scores, i))
	}
	return nil
}

// Scores writes the means. See teachers.Scorer.
func (m *mixture) Scores(dst, x Matrix) error {
	if dst.Rows != x.Rows || dst.Cols != m.classes || dense.Check(dst) != nil {
		return fmt.Errorf("student: scores of %d rows and %d classes do not fit into %d x %d", x.Rows, m.classes, dst.Rows, dst.Cols)
	}
	sum, one := dense.New(x.Rows, m.classes), dense.New(x.Rows, m.classes)
	for k, member := range m.members {
		if err := probabilities(one, member, x); err != nil {
			return err
		}
		temper(one, m.powers[k])
		for i, v := range one.Data {
			sum.Data[i] += float32(m.weights[k]) * v
		}
	}
	for i := range sum.Rows {
		copy(dense.Row(dst, i), dense.Row(sum, i))
	}
	return nil
}

// probabilities writes a model's scores, cut to [0, 1] and divided by their sum.
// Rows without a positive score are zero.
func probabilities(dst Matrix, model member, x Matrix) error {
	if err := model.Scores(dst, x); err != nil {
		return fmt.Errorf("student: %w", err)
	}
	for i := range dst.Rows {
		scores := dense.Row(dst, i)
		var sum float32
		for c, v := range scores {
			scores[c] = max(0, min(1, v))
			sum += scores[c]
		}
		if sum > 0 {
			for c := range scores {
				scores[c] /= sum
			}
		}
	}
	return nil
}
