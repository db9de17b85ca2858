// Package features turns each image into a vector, independently of all other images.
//
// An [Extractor] maps the pixels of one image to a vector. [Raw] returns the pixels. [Deskew] straightens
// slanted strokes. [HOG] is a histogram of oriented gradients. [Scattering] is the wavelet scattering
// transform. [GroupNorm] and [Standardize] normalise the result of another extractor. Extractors can be
// nested, and a [Cache] stores results:
//
//	upright := features.Deskew{Of: features.StandardHOG()}
//	x, err := features.Apply(ctx, set, features.Standardize{Of: upright}, workers)
//
// # Guarantee
//
// A vector depends only on one image and on constants in the code. So neighbouring data sets stay
// neighbouring, row by row, for every unit of privacy and every neighbouring relation. Features cost no
// privacy budget. This package has no whitening or PCA, which need statistics of the data.
//
// # Caveats
//
// The constants were chosen on public images (MNIST). Tuning features on private images has a privacy cost.
package features
