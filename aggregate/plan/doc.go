// Package plan chooses a noisy argmax before it is run. For a budget it finds the mechanism, threshold, noise
// and number of queries that give the most correct labels; for given noise it computes the cost and the
// expected number of correct labels.
//
//	s := plan.Simulation{Teachers: 250, Classes: 10, Queries: 1000, Accuracy: 0.83}
//	votes, err := s.Examples(rng.SeedKey(1))
//	best, err := plan.Alternatives(ctx, votes, plan.Goal{Epsilon: 2, Delta: 1e-5})
//
// [Alternatives] compares settings of every mechanism of package aggregate on example votes. [Evaluate]
// computes cost and expected labels for one [aggregate.Setting].
//
// Expectations are sums over the exact output distributions of integer noise, to 1e-9, not simulations; only
// the example votes of a [Simulation] are random. Package accountant computes the planned epsilon again from
// the Event of the mechanism that would run; it never exceeds the goal.
//
// # Caveats
//
// A plan made on real votes is a function of the private data. The epsilon of a run does not cover parameters
// that were chosen in this way, and the plan must not be released. Plan on simulated votes, on public data,
// or on the votes of an earlier, separately charged run. The search is a grid followed by exact evaluation:
// it finds good settings and does not prove them optimal.
package plan
