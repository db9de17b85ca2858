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
// privacy budget, because a teacher releases only votes. Errors and progress do not depend on private values,
// except for errors of teachers.Dataset.Validate. Equal data and streams give the same model, bit for bit.
//
// # Caveats
//
// A model is as secret as its training data: it contains thresholds and class counts, down to single records.
// Columns need no scaling. Missing values must be encoded as numbers, because learners refuse NaN, and should
// be marked by an additional column.
//
// # Use
//
//	learner := trees.Forest{}
//	votes, err := teachers.Train(ctx, teachers.Config{Learner: learner, ...}, private, share, queries)
package trees
