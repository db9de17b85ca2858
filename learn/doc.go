// Package learn traces one run of a mechanism step by step, with every number in
// words a student can follow and check by hand.
//
//	m, err := learn.Find("noisy-argmax")
//	trace, err := m.Run(map[string]string{"counts": "60,40,3"}, learn.Options{Seed: 7, Delta: 1e-5})
//	err = trace.Write(os.Stdout, table.Markdown)
//
// A [Trace] is data: a title, ordered steps of a name, words, a formula and numbers,
// and three closing sections: what is released, what it cost, and what would go wrong
// if a common misconception were followed. Numbers come from the packages that run
// the mechanisms - aggregate, stability, svt, dpsgd - and from accountant, not from
// formulas of this package. Where a mechanism shows its noise only in what it releases,
// the trace runs it and works back; elsewhere the noise is drawn by the same exact
// samplers. Formulas that are wrong stand here, beside what they lead to. The same
// seed gives the same trace.
//
// Every mechanism is one file and one line of [Mechanisms].
//
// # Caveats
//
// A trace shows private data and noise: it is never releasable, whatever the seed.
package learn
