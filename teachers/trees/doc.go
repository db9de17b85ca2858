// Package trees grows decision trees on tables: a random forest and gradient boosting, as learners for
// teachers and students.
//
//   - [Forest] averages fully grown trees. Each tree is grown on a bootstrap sample of the share, and each
//     node tries a few random columns (Breiman 2001).
//   - [Booster] adds small regression trees on the gradient of the multinomial loss, found on histograms
//     (Friedman 2001; the second-order split gain by Chen and Guestrin 2016).
//
// The values of every column are grouped into at most 256 bins, and trees split between bins. If a column has
// at most 256 different values, no split is lost.
//
// # Guarantee
//
// Bins, trees and leaves depend only on one share and on its teacher's stream of random numbers, and a
// teacher outputs only its votes. So the bins, which depend on private values, need no charge. No error and
// no progress of this package depends on the values of a share: only teachers.Dataset.Validate refuses data.
// The same share and stream give the same model, bit for bit.
//
// # Caveats
//
// A tree contains thresholds and class counts of its share, down to single records: a model is as secret as
// its share. Both learners sort columns by value and so need no scaling. Like every learner they refuse NaN:
// missing values must be encoded as a number, preferably with an additional column that marks them.
//
// # Use
//
//	learner := trees.Forest{}
//	votes, err := teachers.Train(ctx, teachers.Config{Learner: learner, ...}, private, share, queries)
package trees
