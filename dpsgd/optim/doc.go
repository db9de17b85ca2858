// Package optim applies the update rules of torch.optim: it moves parameters against a given gradient. For a
// differentially private gradient these rules are post-processing and cost nothing.
//
// The state is in double precision, whatever the precision of the parameters. It can be read and restored, so
// that a resumed run is the same to the last bit.
//
//	o, err := optim.New(optim.Config{Method: optim.Adam}, len(parameters))
//	finite := optim.Step(o, parameters, gradient, 0.001)
package optim
