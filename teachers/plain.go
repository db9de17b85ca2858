package teachers

import (
	"slices"

	"github.com/pate-go/pate/internal/plain"
)

// Plain returns the model as data.
func (c constant) Plain() *plain.Model {
	return &plain.Model{Constant: &plain.Constant{Class: c.class}}
}

// Plain returns the model as data.
func (m *softmaxModel) Plain() *plain.Model {
	return &plain.Model{Linear: &plain.Linear{
		Classes: slices.Clone(m.present), Bias: plain.Wide(m.bias),
		Weights: plain.Widen(m.w.Data, m.w.Rows, m.w.Cols, m.w.Stride),
	}}
}

// Plain returns the model as data: regression on 0 and 1 in place of -1 and +1.
func (m *kernelModel) Plain() *plain.Model {
	n := m.x.Rows
	k := &plain.Kernel{
		Classes: slices.Clone(m.present), Gamma: float64(m.rbf.Gamma), Landmarks: plain.Widen(m.x.Data, n, m.x.Cols, m.x.Stride),
		Coefficients: make([][]float64, n), Intercept: make([]float64, len(m.present)),
	}
	for i := range n {
		k.Coefficients[i] = make([]float64, len(m.present))
		for c := range m.present {
			k.Coefficients[i][c] = float64(m.coef.Data[c*m.coef.Stride+i]) / 2
		}
	}
	for c := range k.Intercept {
		k.Intercept[c] = .5
	}
	return &plain.Model{Kernel: k}
}
