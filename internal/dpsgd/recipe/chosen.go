package recipe

import (
	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
)

// Event returns all that one model of the plan charges with this noise, in one
// composition: what a search among several plans needs to know before it runs one.
func (p Plan) Event(noise float64) accountant.Event { return whole(p.events(noise)) }

// FileOfChosen returns the file of a model that was chosen among several. What it costs is
// what the choice costs, which is more than its training, and other rows scored it than
// those that chose.
func (m *Model) FileOfChosen(epsilon, delta float64, scored dataset.Set) ([]byte, error) {
	chosen := *m
	chosen.Epsilon, chosen.Delta, chosen.Scored = &epsilon, delta, rowsHash(scored)
	return chosen.bytes()
}
