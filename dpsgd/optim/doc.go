// Package optim implements the update rules of torch.optim. An update rule moves parameters against a
// gradient. If the gradient is differentially private, the update is post-processing and costs no privacy.
//
// The state is in double precision for parameters of any precision. If a resumed run restores its parameters
// and this state, its steps equal those of an uninterrupted run to the last bit.
//
//	o, err := optim.New(optim.Config{Method: optim.Adam}, len(parameters))
//	o.Begin(0.001) // learning rate
//	finite := optim.Apply(o, 0, parameters, gradient)
package optim
