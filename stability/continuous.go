package stability

import (
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
)

// ContinuousLaplace is the test as the literature has it, with continuous Laplace noise of scale 1/Epsilon
// and any real threshold. It serves to compare laws and to compute a cost. It is not meant to be run.
//
// Neighbours with different answers are told apart with probability e^(-Epsilon
// Threshold)/2. The printed threshold log(1/delta)/epsilon therefore gives (epsilon,
// delta/2), and log(1/(2 delta))/epsilon gives (epsilon, delta).
type ContinuousLaplace struct {
	Epsilon   float64 // > 0
	Threshold float64 // >= 0
}

// Event returns the cost of one question.
func (m ContinuousLaplace) Event() accountant.Event {
	return accountant.MStab{Epsilon: m.Epsilon, Threshold: m.Threshold}
}

// Law returns the probability that an answer at this distance is released, and that it is
// not, as natural logarithms.
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

// ContinuousGaussian is the test with continuous Gaussian noise.
type ContinuousGaussian struct {
	Sigma     float64 // standard deviation of the noise, in records; > 0
	Threshold float64 // >= 0
}

// Event returns the cost of one question.
func (m ContinuousGaussian) Event() accountant.Event {
	return accountant.WithFailure{
		Event: accountant.Gaussian{NoiseMultiplier: m.Sigma},
		Delta: mathx.Up(math.Exp(mathx.LogNormalCDF(-m.Threshold/m.Sigma)) * (1 + 0x1p-40)),
	}
}

// Law returns the probability that an answer at this distance is released, and that it is
// not, as natural logarithms.
func (m ContinuousGaussian) Law(distance float64) (released, failed float64) {
	z := (distance - m.Threshold) / m.Sigma
	return mathx.LogNormalCDF(z), mathx.LogNormalCDF(-z)
}
