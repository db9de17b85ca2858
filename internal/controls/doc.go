// Package controls audits every mechanism of the toolkit, and variants with known mistakes. Package
// internal/accountant/audit contains the statistical tests.
//
//	results, err := controls.Run(ctx, controls.Default(), controls.Options{Key: key, Alpha: 1e-4})
//
// [Default] lists the mechanisms without mistakes. Each mechanism runs through its public interface on two
// neighbouring inputs and charges a ledger. No claim should be refuted. [Broken] lists positive controls with
// deliberate mistakes. The audit must refute the claim that would be true without the mistake. [Trained] and
// [BrokenTrained] do the same for a model on MNIST, which takes longer.
//
// A claim is the cost that accountants compute for the mechanism's event, at a delta where the audit is
// sensitive. Mechanisms without a delta are audited at delta 0. For Gaussian noise the claim is the whole
// privacy profile, and Options.Delta selects a point.
//
// # Caveats
//
// A claim that is not refuted is not proved (see package audit). Each target audits one pair of neighbouring
// inputs, or a small set of such pairs.
package controls
