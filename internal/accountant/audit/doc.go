// Package audit tries to refute claims of (epsilon, delta)-differential privacy.
//
// A claim means that no event is much likelier on one input than on a neighbour: P[S | D] <= e^epsilon P[S
// | D'] + delta, for every S. One event for which this fails refutes the claim. Conversely, every event gives
// a lower bound on the true epsilon at that delta,
//
//	log((P[S | D] - delta) / P[S | D']).
//
// There are three ways to find events, depending on what can be done with the mechanism:
//
//	BlackBox   it can be run many times on two inputs: an event is learned on half
//	           of the runs and tested on the other half
//	Exact      its output laws are known: the worst event, over all neighbours
//	OneRun     it is too long to run twice: many records of one run, in or out by
//	           fair coins, are guessed (Steinke, Nasr, Jagielski 2023)
//
// The mechanism is given as functions, or as probabilities:
//
//	with := func(run uint64) (string, error) { … } // one run on D
//	without := func(run uint64) (string, error) { … } // one run on a neighbour
//	finding, err := audit.BlackBox(ctx, with, without, audit.Config{
//		Claim: audit.Claim{Epsilon: 1}, Alpha: 1e-4, Runs: 100000})
//	if finding.Refuted() { … }
//
// # Guarantee
//
// A claim that is true is refuted with probability at most Alpha by BlackBox, Test and OneRun, and never by
// Exact if the laws have the accuracy stated. Alpha is for one finding: for k findings divide it by k.
//
// # Caveats
//
// A claim that is not refuted is not shown to be true. Runs show nothing that happens less often than about
// once in all the runs: at a delta of 1e-5 no affordable number of runs reveals much about Gaussian noise, so
// audit the claim at a larger delta, where it holds just as well. Only a known output law can reveal a leak
// through rare events. An audit tests only the inputs given to it.
package audit
