// Package golearn wraps models of the golearn library (github.com/sjwhitworth/golearn) as teachers:
// [BernoulliNB], bagged ID3 trees and nearest neighbours.
//
// Features are converted to golearn instances with public constants only. A threshold in the configuration
// decides which features are present, and [Pooling] averages squares of pixels within one image. Nothing is
// fitted on private data outside the model.
//
//   - [BernoulliNB] assumes that features are independent given the class.
//   - [BaggedID3] grows golearn's ID3 trees on bootstrap samples that this package draws. golearn's own
//     forests run in goroutines whose panics cannot be caught, and draw from the global random source.
//   - [NewKNN] returns golearn's nearest neighbours, whose distances are in C. In a build without cgo it
//     returns [ErrNeedsCgo].
//
// golearn's logistic regression cannot be fitted in the pinned version, so it is not offered. Use
// teachers.Softmax, which is the same model.
//
// # Caveats
//
//   - golearn decides ties by the order of Go maps, which is random. So no model here is
//     teachers.Reproducible, and predicting twice may give two results. Keep the votes, and never predict
//     again.
//   - A panic in golearn becomes an error.
//   - golearn searches all features to look up one. It works with hundreds of features but is too slow for
//     thousands. Pooling images to a quarter makes trees and [BernoulliNB] several times faster at little
//     cost.
//
// # Use
//
//	cfg := teachers.Config{Learner: golearn.BernoulliNB{Threshold: 0.5}, ...}
//	votes, err := teachers.Train(ctx, cfg, private, share, queries)
package golearn
