// Package optim implements the update rules of torch.optim. An update rule moves parameters against a
// gradient. If the gradient is differentially private, the update is post-processing and costs no privacy.
//
// The optimizer state is in double precision. If a resumed run restores its parameters and state, its steps
// equal the steps of an uninterrupted run to the last bit.
//
//	o, err := optim.New(optim.Config{Method: optim.Adam}, len(parameters))
//	o.Begin(0.001) // learning rate
//	finite := optim.Apply(o, 0, parameters, gradient)
package optim
