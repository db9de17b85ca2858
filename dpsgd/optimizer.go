package dpsgd

import "github.com/pate-go/pate/internal/kernel"

// heavyBall is gradient descent with momentum:
//
//	velocity = momentum velocity + gradient
//	parameters -= rate velocity
type heavyBall struct {
	momentum float64
	velocity []float64
}

// descend takes one step. It reports whether all parameters are finite.
func descend[T kernel.Float](h *heavyBall, parameters []T, gradient []float64, rate float64) bool {
	finite := true
	for j, g := range gradient {
		h.velocity[j] = h.momentum*h.velocity[j] + g
		p := float64(parameters[j]) - rate*h.velocity[j]
		parameters[j] = T(p)
		back := float64(parameters[j])
		finite = finite && back-back == 0
	}
	return finite
}
