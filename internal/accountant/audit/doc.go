// Package audit tries to refute claims of (epsilon, delta)-differential privacy.
//
// A claim states P[S | D] <= e^epsilon P[S | D'] + delta for every event S and all neighbours D and D'.
// One violation refutes the claim. Every event gives a lower bound on the true epsilon at this delta:
//
//	log((P[S | D] - delta) / P[S | D']).
//
// Three functions find events:
//
//	BlackBox   runs a mechanism many times on two inputs, learns an event from
//	           earlier runs and tests it on later runs (Trial)
//	Exact      uses known output distributions and finds the worst event
//	OneRun     uses one run with many records, each in or out by a fair coin,
//	           and guesses about them (Steinke, Nasr, Jagielski 2023)
//
//	with := func(run uint64) (string, error) { … } // one run on D
//	without := func(run uint64) (string, error) { … } // one run on a neighbour
//	finding, err := audit.BlackBox(ctx, with, without, audit.Config{
//		Claim: audit.Claim{Epsilon: 1}, Alpha: 1e-4, Runs: 100000})
//	if finding.Refuted() { … }
//
// # Guarantee
//
// BlackBox and OneRun refute a true claim with probability at most Alpha. If the distributions have the
// stated accuracy, Exact never refutes a true claim. Alpha is for one finding. For k findings, divide
// Alpha by k.
//
// # Caveats
//
// An audit tests only the given inputs. A claim that is not refuted may still be false. BlackBox does not
// observe events with probabilities far below 1/Runs. Only Exact can reveal a leak through rare events.
// At delta 1e-5, no affordable number of runs reveals much about Gaussian noise. Use a larger delta for
// audits of Gaussian noise.
package audit
