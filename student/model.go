package student

import (
	"context"
	"math"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

// model scores about 1 for the right class and 0 for others.
type model struct {
	teachers.ScoreModel
	projection *projection // nil if the rows are the features
	metric     Matrix      // components x components; no rows if none was learnt
	ridge      *ridge
}

// absent is the score of classes that no released label named, below every score of ridge regression on
// indicators.
const absent = -1e6

// of returns the model of so many classes of which these are present, each a column of the ridge.
func (m *model) of(classes int, present []int) *model {
	m.ScoreModel = teachers.ScoreModel{Name: "student", Features: m.ridge.landmarks.Cols, Classes: classes,
		Present: present, Absent: absent, Rows: math.MaxInt,
		Score: func(dst, x Matrix) error {
			scores, err := m.scores(x)
			copy(dst.Data, scores.Data)
			return err
		}}
	if m.projection != nil {
		m.Features = len(m.projection.mean)
	}
	return m
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
