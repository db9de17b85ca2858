package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Weights is where the weights of a layer start. Intercepts start at zero.
type Weights int

const (
	// He draws normal weights of variance 2/fan-in, for layers before a ReLU (He et al. 2015).
	He Weights = iota
	// Glorot draws uniform weights of variance 2/(fan-in + fan-out), for tanh or no
	// activation (Glorot and Bengio 2010).
	Glorot
	// Zero is for models that are linear in their parameters. Any other model would keep
	// its units alike for ever.
	Zero
)

func (w Weights) check() error {
	if w < He || w > Zero {
		return fmt.Errorf("field Weights is %d, must be He, Glorot or Zero", int(w))
	}
	return nil
}

func (w Weights) draw(dst []float64, fanIn, fanOut int, rnd *rand.Rand) {
	switch w {
	case He:
		deviation := math.Sqrt(2 / float64(fanIn))
		for i := range dst {
			dst[i] = deviation * rnd.NormFloat64()
		}
	case Glorot:
		limit := math.Sqrt(6 / (float64(fanIn) + float64(fanOut)))
		for i := range dst {
			dst[i] = limit * (2*rnd.Float64() - 1)
		}
	default:
		clear(dst)
	}
}
