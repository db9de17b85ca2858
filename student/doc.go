// Package student trains the model that may be published. It is trained on a public pool and on the labels
// that an aggregator released for some rows of the pool.
//
// Only few labels are affordable, but the whole pool is public. So a student learns most of the structure of
// the data at no privacy cost:
//
//   - [NewPool] learns the public part once: principal directions, and each row's nearest neighbours among
//     them.
//   - [Pool.Select], or [Select] without the rest, returns good queries: the k-means representatives of the
//     pool.
//   - [Pool.Spread] carries released labels along the neighbour graph (Zhou et al. 2004, "Learning with local
//     and global consistency").
//   - [Pool.Fit] trains the student. It spreads the labels, learns from them which directions vary within
//     classes, shrinks these directions and spreads again. Then it fits a kernel ridge to all rows that have
//     a spread label.
//   - [Learner] does all this for one pool, and chooses the student by the kind of rows and the number of
//     labels. From thousands of labels of images, of which half may be wrong, it first fits a ridge and
//     learns its predictions.
//   - [Supervised] trains any teachers.Learner on the labelled rows.
//   - [CrossValidation] compares students on held-out labels, and keeps their mean or the best student. Use
//     it on tables, with [TableCandidates].
//
// # Guarantee
//
// Everything here is post-processing: functions of released labels, public rows and independent random
// numbers. No private record is an input. So a student, or any choice among students on released or public
// data, has the (ε, δ) of its labels, under the same unit and relation, and costs nothing more. [Pool.Select]
// sees no label: the queries are fixed before any is answered, so their choice costs no privacy and reveals
// nothing.
//
// # Caveats
//
//   - The pool must be public: a student may hold its rows and their features.
//   - Rows without a released label (a declined answer, a row that was no query) must be [Unlabelled]. Using
//     true labels or raw votes instead breaks the guarantee, and so does choosing between students by their
//     accuracy on private data.
//   - Pool rows must not be used to score a student that was trained on them.
//   - Spreading assumes that near rows share a class more often than not. If this is false, as for many
//     tables, a supervised student is better.
//   - Released labels are noisy: an error in a sparse region spreads over that region.
//   - A class without any released label is never predicted.
//
// # Use
//
//	pool, err := student.NewPool(ctx, features, student.Config{}, rnd)
//	queries, err := pool.Select(ctx, 200, rnd) // queries for the teachers
//	// labels[i] = student.Unlabelled where none was released
//	model, err := pool.Fit(ctx, labels, classes)
//	err = model.Predict(answers, unseen)
package student
