package recipe

import "github.com/pate-go/pate/accountant"

// Event returns all that one model of the plan charges with this noise, in one
// composition: what a search among several plans needs to know before it runs one.
func (p Plan) Event(noise float64) accountant.Event { return whole(p.events(noise)) }

// FileWithCost returns the file of the model with another cost on its card. What a model
// that was chosen among several costs is what the choice costs, which is more than its
// training.
func (m *Model) FileWithCost(epsilon, delta float64) ([]byte, error) {
	chosen := *m
	chosen.Epsilon, chosen.Delta = &epsilon, delta
	return chosen.bytes()
}
