// Package trees provides a random forest and gradient boosting on tables, as learners for teachers and
// students.
//
//   - [Forest] averages fully grown trees. Each tree uses a bootstrap sample, and each node tries a few
//     random columns (Breiman 2001).
//   - [Booster] adds small regression trees that fit the gradient of the multinomial loss (Friedman 2001). It
//     finds splits on histograms by the second-order gain (Chen and Guestrin 2016).
//
// The values of every column are grouped into at most 256 bins, and trees split between bins. In a column
// with at most 256 distinct values, all splits remain possible.
//
// # Guarantee
//
// Bins, trees and leaves depend on one teacher's data and random stream, and on nothing else. Bins cost no
// privacy budget, because a teacher releases only votes. Errors of teachers.Dataset.Validate may depend on
// private values. Other errors and progress do not. Equal data and streams give the same model, bit for bit.
//
// # Caveats
//
// A model must stay secret like its training data. It contains thresholds and class counts, down to single
// records. Columns need no scaling. Learners refuse NaN, so missing values must be encoded as numbers. An
// additional column should mark missing values.
//
// # Use
//
//	learner := trees.Forest{}
//	votes, err := teachers.Train(ctx, teachers.Config{Learner: learner, ...}, private, share, queries)
package trees
