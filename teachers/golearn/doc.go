// Package golearn wraps models of the golearn library (github.com/sjwhitworth/golearn) as teachers:
// [BernoulliNB], bagged ID3 trees and nearest neighbours.
//
// Features are converted to golearn instances without using private data. For [BernoulliNB] and
// [BaggedID3], a feature is present if it exceeds Threshold. [Pooling] averages blocks of pixels in an image.
//
//   - [BernoulliNB] assumes that features are independent given the class.
//   - [BaggedID3] grows golearn's ID3 trees on bootstrap samples. Golearn's forests are not used: they
//     draw from the global random source, and a panic in their goroutines ends the program.
//   - [NewKNN] returns golearn's nearest neighbours, which compute distances in C. Without cgo it returns
//     [ErrNeedsCgo].
//
// In place of golearn's logistic regression, which fails in the pinned version, use teachers.Softmax.
//
// # Caveats
//
//   - golearn breaks ties by the order of Go maps, which is random. So no model of this package is
//     teachers.Reproducible, and two predictions on the same query may differ. Keep the votes and do not
//     predict twice.
//   - A panic in golearn becomes an error.
//   - golearn looks up a feature by linear search, so thousands of features take too long. If images are
//     pooled to a quarter of their pixels, trees and [BernoulliNB] are several times faster and hardly less
//     accurate.
//
// # Use
//
//	cfg := teachers.Config{Learner: golearn.BernoulliNB{Threshold: 0.5}, ...}
//	votes, err := teachers.Train(ctx, cfg, private, share, queries)
package golearn
