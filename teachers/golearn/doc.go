// Package golearn wraps models of the golearn library (github.com/sjwhitworth/golearn) as teachers.
//
// The conversion of features to golearn instances does not use private data. For [BernoulliNB] and
// [BaggedID3], a feature is present if it exceeds Threshold. [Pooling] averages blocks of pixels in an image.
//
//   - [BernoulliNB] assumes that features are independent given the class.
//   - [BaggedID3] grows golearn's ID3 trees on bootstrap samples.
//   - [NewKNN] returns golearn's nearest neighbours, which compute distances in C. Without cgo it returns
//     [ErrNeedsCgo].
//
// Golearn's logistic regression fails in the pinned version. Use teachers.Softmax instead.
//
// # Caveats
//
//   - golearn breaks ties by the order of Go maps, which is random. So no model of this package is
//     teachers.Reproducible, and two predictions on the same query may differ. Predict once and keep the
//     votes.
//   - A panic in golearn becomes an error.
//   - golearn looks up a feature by linear search, so thousands of features take too long. On images pooled
//     to a quarter of the pixels, trees and [BernoulliNB] are several times faster and hardly less accurate.
//
// # Use
//
//	cfg := teachers.Config{Learner: golearn.BernoulliNB{Threshold: 0.5}, ...}
//	votes, err := teachers.Train(ctx, cfg, private, share, queries)
package golearn
