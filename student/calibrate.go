package student

import (
	"math"

	"github.com/pate-go/pate/internal/dense"
)

// temper makes a candidate as sure as it is right, in place: every probability p of
// a row becomes proportional to (p + doubt)^power.
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

// doubt keeps a candidate that was sure and wrong from costing everything.
const doubt = 0.01

// bestPower returns the power under which the labels are most probable: below 1
// for a candidate that is too sure, above 1 for one that doubts too much. It is
// temperature scaling (Guo et al. 2017) on labels that were held back.
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
