package student

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

type model struct {
	teachers.ScoreModel
	projection *projection // nil if rows need no projection
	metric     Matrix      // components x components; no rows if no metric was learnt
	ridge      *ridge
}

const absent = -1e6

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

func (m model) ofProjections() *model {
	m.projection = nil
	return m.of(m.Classes, m.Present)
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

type mixture struct {
	members           []member
	names             []string
	powers, weights   []float64 // one per member; see temper. The weights have sum 1
	features, classes int
}

// OfProjections returns the same model of rows that [Learner.Project] projected, or nil if a member needs the
// rows themselves.
func (m *mixture) OfProjections() teachers.Classifier {
	out := *m
	out.members = nil
	for _, one := range m.members {
		var p *projection
		switch k := one.(type) {
		case *model:
			p, one = k.projection, k.ofProjections()
		case *projectedModel:
			p, one = k.projection, k.of
		}
		if p == nil {
			return nil
		}
		out.members, out.features = append(out.members, one), p.directions.Cols
	}
	return &out
}

type member interface {
	teachers.Classifier
	teachers.Scorer
}

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

func (m *mixture) Scores(dst, x Matrix) error {
	if err := checkScores(dst, x, m.classes); err != nil {
		return err
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

func checkScores(dst, x Matrix, classes int) error {
	if dst.Rows != x.Rows || dst.Cols != classes || dense.Check(dst) != nil {
		return fmt.Errorf("student: scores of %d rows and %d classes do not fit into %d x %d", x.Rows, classes, dst.Rows, dst.Cols)
	}
	return nil
}

func probabilities(dst Matrix, model member, x Matrix) error {
	if err := model.Scores(dst, x); err != nil {
		return fmt.Errorf("student: %w", err)
	}
	for i := range dst.Rows {
		scores := dense.Row(dst, i)
		for c, v := range scores {
			scores[c] = max(0, min(1, v))
		}
		normalise(scores)
	}
	return nil
}

func temper(scores Matrix, power float64) {
	if scores.Cols == 0 {
		return
	}
	for i := range scores.Rows {
		p := dense.Row(scores, i)
		for c, v := range p {
			p[c] = float32(math.Pow(float64(v)+doubt, power))
		}
		normalise(p)
	}
}

const doubt = 0.01

// bestPower returns the exponent of scores that makes labels most likely (temperature scaling, Guo et al.
// 2017).
func bestPower(scores Matrix, labels []int) float64 {
	best, least := 1., math.Inf(1)
	trial := dense.New(scores.Rows, scores.Cols)
	for half := -8; half <= 8; half++ {
		power := math.Pow(2, float64(half)/2)
		copy(trial.Data, scores.Data)
		temper(trial, power)
		loss := 0.
		for i, y := range labels {
			loss -= math.Log(float64(dense.Row(trial, i)[y]))
		}
		if loss < least {
			best, least = power, loss
		}
	}
	return best
}
