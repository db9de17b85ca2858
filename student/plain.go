package student

import (
	"slices"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/plain"
)

// Plain returns the model as data: projection and metric become one map. A model without a
// projection has no metric either, unless it is for trial.
func (m *model) Plain() *plain.Model {
	p, r := m.projection, m.ridge
	k := &plain.Kernel{
		Classes: slices.Clone(m.present), Gamma: float64(r.rbf.Gamma),
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
