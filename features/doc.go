// Package features turns images into vectors, each image by itself.
//
// An [Extractor] maps the pixels of one image to one vector. [Raw] keeps the pixels, [Deskew] straightens
// slanted strokes before anything else is computed, [HOG] is a histogram of oriented gradients,
// [Scattering] the wavelet scattering transform; [GroupNorm] and [Standardize] bound what another extractor
// returns. They nest, and a [Cache] keeps what was computed:
//
//	upright := features.Deskew{Of: features.StandardHOG()}
//	x, err := features.Apply(ctx, set, features.Standardize{Of: upright}, workers)
//
// # Guarantee
//
// A vector depends on its own image and on constants in the code, on no other row and on nothing fitted. So
// neighbouring data sets stay neighbouring, row by row, and features cost no privacy budget under any unit
// or relation: they are part of the analysis that runs afterwards, not a release. This is why there is no
// whitening, no PCA and no per-feature scaling here; each would have to be fitted on public rows or
// charged: package internal/dpsgd/moments does that.
//
// # Caveats
//
// Constants were chosen on public images (MNIST, development split). Features tuned by looking at your own
// private images are not free.
package features
