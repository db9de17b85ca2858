// Package outside audits external labellers: programs and web addresses that turn votes, or a private table,
// into labels. It runs a labeller many times on two neighbouring inputs, and computes a lower bound on
// epsilon from the answers.
//
//	label, err := outside.Command("prog {in} {out}", time.Minute)
//	votes := outside.Votes{Teachers: 100, Classes: 2, Queries: 1}
//	result, err := outside.Audit(ctx, label, votes.Pairs(nil), outside.Options{
//		Claim: audit.Claim{Epsilon: 1}, Alpha: 1e-4, Samples: 10000, Rand: rnd})
//
// # Guarantee
//
// If the claim is true for the given inputs, it is refuted with probability at most Alpha. This bound holds
// even if an audit stops early, or uses earlier runs to select inputs and events. Failures, such as exit
// codes and timeouts, count as outputs.
//
// # Caveats
//
// A claim that is not refuted is not proved: other inputs, or rarer events, may refute it. Runs that
// influence each other, such as runs with one ledger, are not audited correctly.
package outside
