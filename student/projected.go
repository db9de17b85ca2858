package student

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/plain"
	"github.com/pate-go/pate/teachers"
)

// projectFrom is from how many times the components of a pool on, in columns, candidates learn from
// projections.
const projectFrom = 4

// Projected returns how many columns candidates learn from, of rows with so many: the directions of a pool,
// or all where they are few.
func Projected(columns int) int {
	if columns >= projectFrom*defaultComponents {
		return defaultComponents
	}
	return columns
}

// projected returns a candidate that learns from projections on the principal directions of the pool, and is
// tried on the projections in z if it has rows. Few columns stay as they are.
func (p *Pool) projected(c Candidate, z Matrix) Candidate {
	if len(p.projection.mean) < projectFrom*p.projection.directions.Cols {
		return c
	}
	fit := c.Fit
	if z.Rows > 0 {
		c.Try, c.of = fit, z
	}
	c.Fit = func(ctx context.Context, x Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
		data, err := labelledPart(x, labels, classes)
		if err != nil {
			return nil, err
		}
		z, err := p.projection.apply(ctx, data.X)
		if err != nil {
			return nil, err
		}
		m, err := fit(ctx, z, data.Y, classes, rnd)
		if err != nil {
			return nil, err
		}
		return &projectedModel{p.projection, m.(member)}, nil
	}
	return c
}

type projectedModel struct {
	projection *projection
	of         member
}

func (m *projectedModel) Predict(dst []int, x Matrix) error {
	return m.answer(dst, x, func(z Matrix) error { return m.of.Predict(dst, z) })
}

func (m *projectedModel) Scores(dst, x Matrix) error {
	return m.answer(make([]int, x.Rows), x, func(z Matrix) error { return m.of.Scores(dst, z) })
}

// answer calls of with the projections of x, for as many answers as there is room in dst.
func (m *projectedModel) answer(dst []int, x Matrix, of func(z Matrix) error) error {
	if err := teachers.ValidateQueries(dst, x, len(m.projection.mean)); err != nil {
		return err
	}
	z, err := m.projection.apply(context.Background(), x)
	if err != nil {
		return err
	}
	if err := of(z); err != nil {
		return fmt.Errorf("student: %w", err)
	}
	return nil
}

// Plain returns the model as data: a kernel with the projection before it, or weights of the features
// themselves, without the bound on features far from the pool.
func (m *projectedModel) Plain() *plain.Model {
	p, of := m.projection, m.of.(plain.Describer).Plain()
	if k := of.Kernel; k != nil {
		p.describe(k)
	}
	if l := of.Linear; l != nil {
		for k, onto := range l.Weights {
			weights := make([]float64, len(p.mean))
			for i := range weights {
				for j, d := range dense.Row(p.directions, i) {
					weights[i] += float64(d) * onto[j]
				}
				weights[i] *= p.scale
				l.Bias[k] -= weights[i] * p.mean[i]
			}
			l.Weights[k] = weights
		}
	}
	return of
}

// Plain returns the model as data: projection and metric become one map. A model without a
// projection has no metric either, unless it is for trial.
func (m *model) Plain() *plain.Model {
	p, r := m.projection, m.ridge
	k := &plain.Kernel{
		Classes: slices.Clone(m.Present), Gamma: float64(r.rbf.Gamma),
		Coefficients: plain.Widen(r.coef.Data, r.coef.Rows, r.coef.Cols, r.coef.Stride), Intercept: plain.Wide(r.mean),
	}
	if p != nil {
		p.describe(k)
	}
	if m.metric.Rows > 0 {
		for i, row := range k.Directions {
			mapped := make([]float64, m.metric.Cols)
			for a, v := range row {
				for b, w := range dense.Row(m.metric, a) {
					mapped[b] += v * float64(w)
				}
			}
			k.Directions[i] = mapped
		}
	}
	k.Landmarks = plain.Widen(r.landmarks.Data, r.landmarks.Rows, r.landmarks.Cols, r.landmarks.Stride)
	return &plain.Model{Kernel: k}
}

func (p *projection) describe(k *plain.Kernel) {
	k.Centre, k.Scale, k.Limit = slices.Clone(p.mean), p.scale, far
	k.Directions = plain.Widen(p.directions.Data, p.directions.Rows, p.directions.Cols, p.directions.Stride)
}

// Plain returns the mean as data; nil if a member cannot be.
func (m *mixture) Plain() *plain.Model {
	mean := &plain.Mean{Doubt: doubt}
	for k, member := range m.members {
		d, ok := member.(plain.Describer)
		if !ok {
			return nil
		}
		mean.Members = append(mean.Members, plain.Member{Name: m.names[k], Power: m.powers[k], Weight: m.weights[k], Model: *d.Plain()})
	}
	return &plain.Model{Mean: mean}
}
