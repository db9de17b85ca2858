// Package charged makes features of images with the help of a few statistics of the private
// images. It releases each statistic once and charges for it.
//
// A row of features has two blocks:
//
//   - The scattering transform of the image, normalised by itself. Its 81 channels are whitened with a
//     released second moment, and a released mean is subtracted.
//   - A histogram of oriented gradients, standardised by itself. A released mean is subtracted.
//
// Both blocks are scaled to the same norm, so that a row of d features has norm sqrt(d), up to rounding. Rows
// are stored with 16 bits per number ([features.Packed]), by a rule for each row alone, after extraction,
// after whitening and at the end. The released sums are sums of the stored rows.
//
//	cfg := charged.Default(60000)
//	events := cfg.Events() // reserve them, together with the training
//	f, err := charged.Prepare(ctx, train, nil, test, cfg, reservations, key)
//	x, err := f.Transform.Apply(ctx, further, workers) // and it can be kept
//
// # Guarantee
//
// A row of Features.Train or Features.Test depends on its own image. Everything else it depends on is covered
// by the events of the configuration, for the relation "add or remove one record". A record is a row of the
// training set, or all rows of a unit if [Prepare] gets the ends of units. So a mechanism that is then run on
// the rows composes with these events. The statistics may be released; the rows are as private as the images.
//
// # Caveats
//
// Noise, clip norm and ridge of [Default] were chosen on public images. If a unit owns several rows,
// [Prepare] protects it only if it gets the ends of units.
package charged
