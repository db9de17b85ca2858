// Package controls puts every mechanism of the toolkit, and mistakes that were made with such mechanisms,
// to the tests of package internal/accountant/audit.
//
//	results, err := controls.Run(ctx, controls.Default(), controls.Options{Key: key, Alpha: 1e-4})
//
// [Default] are the mechanisms as shipped, each run through its public interface on two neighbours, charges
// and all; none of the claims should be refuted. [Broken] are positive controls: the mistake is made on
// purpose, and the claim that the mistaken would make must be refuted, or the audit is blind. [Trained] and
// [BrokenTrained] are the same for a model that is trained on MNIST as users do, which takes a while.
//
// A claim is what the mechanism's own event costs by the accountants, at a delta where the method sees
// something. Noise without a delta is audited at delta 0; of Gaussian noise the whole privacy profile is
// claimed, and any point can be refuted: Options.Delta selects it.
//
// # Caveats
//
// As audit's: a claim that stands is not proved. Each target has one pair of neighbours, or one small
// world; the tests of the mechanisms' own packages enumerate more.
package controls
