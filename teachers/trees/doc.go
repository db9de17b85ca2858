// Package trees grows decision trees on tables: a random forest and a gradient booster, both as learners
// for teachers and students.
//
//   - [Forest] averages full-grown trees, each on a bootstrap sample of the
//     share, each node trying a random few columns (Breiman 2001).
//   - [Booster] adds small regression trees on the gradient of the multinomial
//     loss, found on histograms (Friedman 2001; the second-order split gain by
//     Chen and Guestrin 2016).
//
// Every column is cut into at most 256 bins between its own values, and trees split between bins. With 256
// values or fewer in a column no split is lost.
//
// # Guarantee
//
// Bins, trees and leaves come from one share and the stream of random numbers that its teacher was given;
// the only thing that leaves a teacher is its votes. So the bins, which follow private values, need no
// charge. No error and no progress of this package depends on the values of a share: data are refused by
// teachers.Dataset.Validate alone. The same share and stream give the same model, bit for bit.
//
// # Caveats
//
// A tree holds thresholds and class counts of its share, down to single records: a model is as secret as
// the share itself, if that is. Both learners sort columns by value and so need no scaling, but they refuse
// NaN, as every learner does: missing values must be a number and, better, a column.
//
// # Use
//
//	learner := trees.Forest{}
//	votes, err := teachers.Train(ctx, teachers.Config{Learner: learner, ...}, private, share, queries)
package trees
