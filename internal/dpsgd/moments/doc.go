// Package moments releases private means and second moments of rows. Centring or whitening features with a
// release costs no further privacy.
//
// Each release is one [dpsgd.Sum]. A record contributes its row or its matrix of second moments, clipped to a
// norm. The sum gets Gaussian noise and is divided by a public number of records. A release is charged to a
// reservation for [Config.Event] before it runs.
//
//	second, err := moments.EstimateSecondMoment(ctx, data, 81, cfg, reservation, key)
//	whitening, err := second.Whitening(0.003)
//	err = whitening.Apply(data.X) // free, also for test rows
//
// # Guarantee
//
// A release is the Gaussian mechanism with the noise multiplier of its Config. Neighbours differ by one added
// or removed record, and Config.Records is the same for both. Computations on a release are post-processing.
// A centred or whitened row depends only on the original row and on releases, so neighbouring data sets stay
// neighbours.
//
// # Caveats
//
// Centring and whitening add no noise to rows, so the results need the same protection as the rows. Choosing
// clip norms, noise or ridge on private rows has a privacy cost that this package does not charge.
package moments
