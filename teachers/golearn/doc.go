// Package golearn wraps models of the golearn library (github.com/sjwhitworth/golearn) as teachers:
// [BernoulliNB], bagged ID3 trees and nearest neighbours.
//
// Features are converted to golearn instances without using private data. For binary features, a threshold in
// the configuration decides which features are present. [Pooling] averages blocks of pixels within one image.
// Only the model itself is fitted on private data.
//
//   - [BernoulliNB] assumes that features are independent given the class.
//   - [BaggedID3] grows golearn's ID3 trees on bootstrap samples drawn by this package. The forests of
//     golearn are not used: they panic in goroutines where nothing can recover, and draw from the global
//     random source.
//   - [NewKNN] returns golearn's nearest neighbours, which compute distances in C. Without cgo it returns
//     [ErrNeedsCgo].
//
// The logistic regression of golearn cannot be fitted in the pinned version. Use teachers.Softmax, which is
// the same model.
//
// # Caveats
//
//   - golearn breaks ties by the order of Go maps, which is random. So no model here is
//     teachers.Reproducible, and two predictions on the same query may differ. Keep the votes and do not
//     predict twice.
//   - A panic in golearn becomes an error.
//   - golearn finds a feature by searching all features, so it is too slow for thousands of features. Pooling
//     images to a quarter of their pixels makes trees and [BernoulliNB] several times faster at little loss
//     of accuracy.
//
// # Use
//
//	cfg := teachers.Config{Learner: golearn.BernoulliNB{Threshold: 0.5}, ...}
//	votes, err := teachers.Train(ctx, cfg, private, share, queries)
package golearn
