// Package charged extracts image features that use a few statistics of the private images. It releases each
// statistic once and charges for it.
//
// A row of features has two blocks:
//
//   - The scattering transform of the image, normalised within the image. A released second moment whitens
//     its 81 channels, and a released mean is subtracted.
//   - A histogram of oriented gradients, standardised within the image. A released mean is subtracted.
//
// Both blocks are scaled to the same norm, such that a row of d features has norm sqrt(d), up to rounding.
// Rows are stored with 16 bits per number ([features.Packed]). Each row is rounded after extraction, after
// whitening and at the end, independently of other rows. Statistics are computed from the stored rows.
//
//	cfg := charged.Default(60000)
//	events := cfg.Events() // reserve them, together with the training
//	f, err := charged.Prepare(ctx, train, nil, test, cfg, reservations, key)
//	x, err := f.Transform.Apply(ctx, further, workers) // features of other images
//
// # Guarantee
//
// A row of Features.Train or Features.Test depends only on its own image and on the released statistics. The
// events of the configuration cover the statistics, for one added or removed record. A record is a row of the
// training set, or all rows of a unit if the argument ends of [Prepare] is set. A mechanism that uses the
// rows composes with these events. Statistics may be released, but rows are as private as the images.
//
// # Caveats
//
// Noise, clip norm and ridge of [Default] were chosen on public images. If a unit owns several rows,
// the unit is protected only if the argument ends of [Prepare] is set.
package charged
