// Package student trains the model that may be published. It learns from a public pool, and from labels that
// an aggregator released for some rows of the pool.
//
// Only few labels are affordable. But the pool is public, so learning its structure costs no privacy:
//
//   - [NewPool] computes principal directions and the nearest neighbours of each row, from public rows alone.
//   - [Pool.Select] returns good queries, the k-means representatives of the pool. [Select] needs no pool.
//   - [Pool.Spread] propagates released labels along the neighbour graph (Zhou et al. 2004, "Learning with
//     local and global consistency").
//   - [Pool.Fit] trains a student. It spreads the labels, learns the directions that vary within classes,
//     shrinks these directions and spreads again. Then it fits a kernel ridge to all spread labels.
//   - [Learner] combines these steps for one pool. It chooses the student by the kind of rows and the number
//     of labels. For thousands of image labels, it fits a ridge to the predictions of a first ridge.
//   - [Supervised] trains any teachers.Learner on the labelled rows.
//   - [CrossValidation] compares students on held-out labels, and keeps their mean or the best student. Use
//     it for tables, with [TableCandidates].
//
// # Guarantee
//
// Everything here is post-processing of released labels, public rows and independent random numbers. No
// private record is an input. So a student, also one chosen on released or public data, has the (ε, δ)
// guarantee of the labels. The unit and the relation stay the same. [Pool.Select] uses no labels, so the
// choice of queries costs no privacy.
//
// # Caveats
//
//   - The pool must be public, because a student may contain pool rows and their features.
//   - Rows without a released label must be [Unlabelled]. Using true labels or raw votes breaks the
//     guarantee. So does choosing a student by its accuracy on private data.
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
