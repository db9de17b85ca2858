package recipe

import (
	"github.com/pate-go/pate/internal/dpsgd/charged"
	"github.com/pate-go/pate/internal/plain"
)

// Plain returns a linear model as data: it has the probabilities of [Model.Predictions], up
// to rounding. Other kinds have no such form: ok is false.
func (m *Model) Plain() (p plain.Model, ok bool) {
	if m.Kind != Linear {
		return p, false
	}
	columns, parameters := m.featureColumns(), m.network.Parameters()
	l := &plain.Linear{Weights: plain.Widen(parameters, len(m.Classes), columns, columns), Bias: plain.Wide(parameters[columns*len(m.Classes):])}
	for c := range m.Classes {
		l.Classes = append(l.Classes, c)
	}
	return plain.Model{Linear: l}, true
}

// Transform returns what makes the features of the model from private statistics, which were
// charged; nil if its features learn nothing.
func (m *Model) Transform() *charged.Transform { return m.transform }
