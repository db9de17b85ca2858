// Package charged extracts image features with a few statistics of the private images. Each statistic is
// released and charged once.
//
// A row of features has two blocks:
//
//   - The scattering transform of the image, normalised within the image. A released second moment whitens
//     its 81 channels, and a released mean is subtracted.
//   - A histogram of oriented gradients, standardised within the image. A released mean is subtracted.
//
// Both blocks are scaled to the same norm. Up to rounding, a row of d features has norm sqrt(d). Rows are
// stored with 16 bits per number ([features.Packed]). Each row is rounded independently of other rows: after
// extraction, after whitening and at the end. Statistics are computed from the stored rows.
//
//	cfg := charged.Default(60000)
//	events := cfg.Events() // reserve them, together with the training
//	f, err := charged.Prepare(ctx, train, nil, test, cfg, reservations, key)
//	x, err := f.Transform.Apply(ctx, further, workers) // features of other images
//
// # Guarantee
//
// A row of Features.Train or Features.Test depends only on its own image and on the released statistics. The
// events of [Config.Events] cover the statistics, for one added or removed record. By default, a record is
// one row of the training set. If [Prepare] gets the argument `ends`, a record is all rows of a unit.
// Mechanisms that use the rows compose with these events. Statistics may be released, but rows are as private
// as the images.
//
// # Caveats
//
// The noise, clip norm and ridge in [Default] were chosen on public images. Without `ends`, a unit with
// several rows is not protected.
package charged
