// Package optim applies the update rules of gradient descent: it moves parameters once a
// gradient is known. The rules are those of torch.optim and know nothing of privacy. For a
// differentially private gradient they are post-processing. That costs nothing, whatever
// they remember.
//
// The state is in double precision, whatever the precision of the parameters. It can be
// read and restored, so that an interrupted run goes on to the last bit.
//
//	o, err := optim.New(optim.Config{Method: optim.Adam}, len(parameters))
//	finite := optim.Step(o, parameters, gradient, 0.001)
package optim
