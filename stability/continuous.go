package stability

import (
	"math"

	"github.com/pate-go/pate/accountant"
)

// ContinuousLaplace is the test of the literature, with continuous Laplace noise of scale 1/Epsilon and any
// real threshold, for laws and costs. It is not meant to be run. Neighbours with different answers are told
// apart with probability e^(-Epsilon Threshold)/2: the printed threshold log(1/delta)/epsilon gives (epsilon,
// delta/2), and log(1/(2 delta))/epsilon gives (epsilon, delta).
type ContinuousLaplace struct {
	Epsilon   float64 // > 0
	Threshold float64 // >= 0
}

// Event returns the cost of one question.
func (m ContinuousLaplace) Event() accountant.Event {
	return accountant.MStab{Epsilon: m.Epsilon, Threshold: m.Threshold}
}

// Law returns the log probabilities that an answer at this distance is released, and that it is not.
func (m ContinuousLaplace) Law(distance float64) (released, failed float64) {
	return logLaplaceTail(m.Epsilon * (m.Threshold - distance)), logLaplaceTail(m.Epsilon * (distance - m.Threshold))
}

// logLaplaceTail returns log P[Lap(1) > x].
func logLaplaceTail(x float64) float64 {
	if x >= 0 {
		return -x - math.Ln2
	}
	return math.Log1p(-math.Exp(x) / 2)
}
