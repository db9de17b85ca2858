// Package charged makes features of images in which a few statistics of the
// private images are used, each released once and charged.
//
// The scattering transform of an image is normalised by itself, its 81 channels
// are whitened with a released second moment, and a released mean is taken away. A
// histogram of oriented gradients, standardised by itself, loses its released mean.
// The two stand side by side, each scaled to the same norm, the row to the root of
// its length.
//
//	cfg := charged.Default(60000)
//	events := cfg.Events() // reserve them, together with the training
//	f, err := charged.Prepare(ctx, train, test, cfg, reservations, key)
//	x, err := f.Transform.Apply(ctx, further, workers) // and it can be kept
//
// # Guarantee
//
// Everything a row of Features.Train or Features.Test depends on besides its own
// image is in the events of the configuration, for the relation "add or remove
// one record", a record being a row of the training set. So a mechanism that is
// then run on the rows composes with them. The statistics themselves may be
// released; the rows are as private as the images.
//
// # Caveats
//
// Noise, clip norm and ridge of [Default] were found on public images. Where a
// unit owns several rows these events do not protect it.
package charged
