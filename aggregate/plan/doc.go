// Package plan chooses the parameters of a noisy argmax before a run. For a given budget, it finds the
// mechanism, threshold, noise and number of queries with the most correct labels. For fixed noise, it
// computes the privacy cost and the expected number of correct labels.
//
//	s := plan.Simulation{Teachers: 250, Classes: 10, Queries: 1000, Accuracy: 0.83}
//	votes, err := s.Examples(rng.SeedKey(1))
//	best, err := plan.Alternatives(ctx, votes, plan.Goal{Epsilon: 2, Delta: 1e-5})
//
// [Alternatives] compares settings of every mechanism of package aggregate on example votes. [Evaluate]
// computes the cost and the expected labels of one [aggregate.Setting].
//
// Expected values are sums over the exact output distributions of integer noise. The error is about 1e-9 per
// query. Package accountant computes the epsilon of a plan from the mechanism's Event. A plan never exceeds
// the goal's epsilon.
//
// # Caveats
//
// A plan from private votes is private and must not be released, because the epsilon of a run does not cover
// the choice of its parameters. Plan with simulated votes, public data, or votes of an earlier run that was
// charged separately. The search is a grid, so better settings may exist.
package plan
