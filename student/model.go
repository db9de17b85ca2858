package student

import (
	"context"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

type model struct {
	projection *projection // nil if the rows are the features
	metric     Matrix      // components x components; no rows if none was learnt
	ridge      *ridge
	classes    int
	present    []int // class of each of the ridge's columns
}

// absent is the score of classes that no released label named, below every score of ridge regression on
// indicators.
const absent = -1e6

// Predict answers the class with the largest score. See teachers.Classifier.
func (m *model) Predict(dst []int, x Matrix) error {
	if err := teachers.ValidateQueries(dst, x, m.features()); err != nil {
		return err
	}
	scores, err := m.scores(x)
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = m.present[dense.Argmax(dense.Row(scores, i))]
	}
	return nil
}

// Scores writes about 1 for the right class and 0 for others. See teachers.Scorer.
func (m *model) Scores(dst, x Matrix) error {
	if err := checkScores(dst, x, m.classes); err != nil {
		return err
	}
	if err := teachers.ValidateQueries(make([]int, x.Rows), x, m.features()); err != nil {
		return err
	}
	scores, err := m.scores(x)
	if err != nil {
		return err
	}
	for i := range x.Rows {
		out := dense.Row(dst, i)
		for c := range out {
			out[c] = absent
		}
		for k, v := range dense.Row(scores, i) {
			out[m.present[k]] = v
		}
	}
	return nil
}

// features returns the columns of the rows that it answers.
func (m *model) features() int {
	if m.projection == nil {
		return m.ridge.landmarks.Cols
	}
	return len(m.projection.mean)
}

func (m *model) scores(x Matrix) (Matrix, error) {
	ctx, z := context.Background(), x
	if m.projection != nil {
		var err error
		if z, err = m.projection.apply(ctx, x); err != nil {
			return Matrix{}, err
		}
	}
	if m.metric.Rows > 0 {
		mapped := dense.New(z.Rows, z.Cols)
		dense.MulAB(mapped, z, m.metric)
		z = mapped
	}
	return m.ridge.scores(ctx, z)
}

// harden returns each row's best column, or Unlabelled for rows of zeros.
func harden(soft Matrix) []int {
	out := make([]int, soft.Rows)
	for i := range out {
		v := dense.Row(soft, i)
		if out[i] = dense.Argmax(v); v[out[i]] == 0 {
			out[i] = Unlabelled
		}
	}
	return out
}
