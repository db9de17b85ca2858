// Package student trains the model that may be published. It learns from a public pool, and from labels that
// an aggregator released for some rows of the pool.
//
// A budget pays for few labels. But the pool is public, so its structure can be learned at no privacy cost:
//
//   - [NewPool] computes principal directions and the nearest neighbours of each row.
//   - [Pool.Select] returns good queries, the rows nearest to k-means centres. [Select] does the same without
//     a [Pool].
//   - [Pool.Spread] propagates released labels along the neighbour graph (Zhou et al. 2004, "Learning with
//     local and global consistency").
//   - [Pool.Fit] trains a student. It spreads the labels, shrinks directions in which rows of one class
//     differ, and spreads the labels again. Then it fits a kernel ridge to all spread labels.
//   - [Learner] combines these steps for one pool. It chooses the student by the kind of rows and the number
//     of labels.
//   - [CrossValidation] compares students on held-out labels. It keeps the best student or a mean of good
//     students. Use it for tables, with [TableCandidates].
//
// # Guarantee
//
// A student is a function of released labels, public rows and independent random numbers. So the (ε, δ)
// guarantee of the labels covers the student, for the same unit and relation. This also holds if a student is
// chosen on released or public data. [Pool.Select] uses no labels, so the choice of queries costs no privacy.
//
// # Caveats
//
//   - The pool must be public, because a student may contain pool rows and their features.
//   - Rows without a released label must be [Unlabelled]. True labels, raw votes and the choice of a student
//     by its accuracy on private data break the guarantee.
//   - Do not score a student on pool rows that it was trained on.
//   - Spreading assumes that near rows mostly share a class. This is false for many tables.
//   - Released labels are noisy. An error in a sparse region spreads over this region.
//   - A class without a released label is never predicted.
//
// # Use
//
//	pool, err := student.NewPool(ctx, features, student.Config{}, rnd)
//	queries, err := pool.Select(ctx, 200, rnd) // queries for the teachers
//	// labels[i] = student.Unlabelled where none was released
//	model, err := pool.Fit(ctx, labels, classes)
//	err = model.Predict(answers, unseen)
package student
