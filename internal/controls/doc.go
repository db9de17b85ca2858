// Package controls audits every mechanism of the toolkit, and known mistakes with such mechanisms, with the
// tests of package internal/accountant/audit.
//
//	results, err := controls.Run(ctx, controls.Default(), controls.Options{Key: key, Alpha: 1e-4})
//
// [Default] are the mechanisms as shipped, each run through its public interface on two neighbouring inputs,
// including charges; no claim should be refuted. [Broken] are positive controls with deliberate mistakes: the
// audit must refute the claim that would hold without the mistake. [Trained] and [BrokenTrained] are the same
// for a model trained on MNIST as users train it, which takes longer.
//
// A claim is the cost of the mechanism's own event by the accountants, at a delta where the method is
// sensitive. Noise without a delta is audited at delta 0. For Gaussian noise the claim is the whole privacy
// profile, any point of which can be refuted: Options.Delta selects the point.
//
// # Caveats
//
// As for package audit, a claim that is not refuted is not proved. Each target has one pair of neighbouring
// inputs, or one small world; the tests of the mechanisms' own packages enumerate more.
package controls
