// Package features turns each image, independently of all others, into a vector.
//
// An [Extractor] maps the pixels of one image to one vector. [Raw] keeps the pixels, [Deskew] straightens
// slanted strokes before anything else is computed, [HOG] is a histogram of oriented gradients, [Scattering]
// the wavelet scattering transform; [GroupNorm] and [Standardize] bound what another extractor returns. They
// can be nested, and a [Cache] stores the results:
//
//	upright := features.Deskew{Of: features.StandardHOG()}
//	x, err := features.Apply(ctx, set, features.Standardize{Of: upright}, workers)
//
// # Guarantee
//
// A vector depends only on its own image and on constants in the code, not on other rows or fitted values. So
// neighbouring data sets stay neighbouring, row by row, and features cost no privacy budget under any unit or
// relation: they are part of the analysis that follows, not a release. This package has no whitening, PCA or
// per-feature scaling, because these would have to be fitted on public rows or charged, as in package
// internal/dpsgd/moments.
//
// # Caveats
//
// Constants were chosen on public images (MNIST, development split). Features tuned on your own private
// images have a privacy cost.
package features
