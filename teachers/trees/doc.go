// Package trees provides a random forest and gradient boosting on tables, as learners for teachers and
// students.
//
//   - [Forest] averages fully grown trees. Each tree uses a bootstrap sample, and each node tries a few
//     random columns (Breiman 2001).
//   - [Booster] adds small regression trees that fit the gradient of the multinomial loss (Friedman 2001). It
//     finds splits on histograms by the second-order gain (Chen and Guestrin 2016).
//
// The values of every column are grouped into at most 256 bins, and trees split between bins. A column with
// at most 256 distinct values loses no split.
//
// # Guarantee
//
// Bins, trees and leaves depend only on one teacher's data and random stream. The teacher releases only
// votes, so the private bins need no charge. Errors and progress do not depend on private values, except for
// errors of teachers.Dataset.Validate. The same data and stream give the same model, bit for bit.
//
// # Caveats
//
// A model is as secret as its training data: it contains thresholds and class counts, down to single records.
// Columns need no scaling. Missing values must be encoded as numbers, because learners refuse NaN. An
// additional column should mark them.
//
// # Use
//
//	learner := trees.Forest{}
//	votes, err := teachers.Train(ctx, teachers.Config{Learner: learner, ...}, private, share, queries)
package trees
