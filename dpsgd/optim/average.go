package optim

import "github.com/pate-go/pate/internal/kernel"

// Average moves average towards parameters: average = decay average + (1-decay) parameters.
// If it starts at the first parameters, it is their exponential moving average.
func Average[T kernel.Float](average []float64, parameters []T, decay float64) {
	for j, p := range parameters {
		average[j] = decay*average[j] + (1-decay)*float64(p)
	}
}
