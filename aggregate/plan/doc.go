// Package plan chooses a noisy argmax before it is run: for a budget, which
// mechanism, threshold, noise and number of queries give the most correct labels,
// and for given noise, the cost and the expected number of right labels.
//
//	s := plan.Simulation{Teachers: 250, Classes: 10, Queries: 1000, Accuracy: 0.83}
//	votes, err := s.Examples(rng.SeedKey(1))
//	best, err := plan.Alternatives(ctx, votes, plan.Goal{Epsilon: 2, Delta: 1e-5})
//
// [Alternatives] compares settings of every mechanism of package aggregate on
// example votes, and [Evaluate] answers the reverse question for one [aggregate.Setting].
//
// Expectations are sums over the exact output laws of integer noise, to 1e-9, not simulations; only the
// example votes of a [Simulation] are random. A planned epsilon is recomputed by package accountant from
// the Event of the mechanism that would run, and is never above the goal.
//
// # Caveats
//
// A plan made on real votes is a function of the private data: parameters chosen so are not covered by
// the epsilon of the run that uses them, and the plan is not a release. Plan on simulated votes, on
// public data, or on the votes of an earlier, separately charged run. The search is a grid followed by
// exact evaluation: it finds good settings and does not prove them optimal.
package plan
