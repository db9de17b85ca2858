// Package student trains the model that may be published. It trains on the labels that an
// aggregator released for some rows of a public pool, and on the pool.
//
// Only few labels are affordable, but the whole pool is public. So a student learns most of the shape of the
// data for nothing:
//
//   - [NewPool] learns the public part once: principal directions, and each row's nearest neighbours among
//     them.
//   - [Pool.Select], or [Select] without the rest, returns the rows worth asking about: the k-means
//     representatives of the pool.
//   - [Pool.Spread] carries released labels along the neighbour graph (Zhou et al. 2004, "Learning with local
//     and global consistency").
//   - [Pool.Fit] trains the student. It spreads the labels and learns from them which directions vary within
//     classes. It shrinks these directions and spreads again. Then it fits a kernel ridge to all rows that
//     were reached.
//   - [Learner] does all this for one pool, and chooses the student by the kind of rows and the number of
//     labels. Of images with labels for thousands of rows, of which half may be wrong, a ridge answers for
//     the whole pool, and its answers are learned.
//   - [Supervised] trains any teachers.Learner on the labelled rows.
//   - [CrossValidation] compares students on labels that it holds back, and keeps their mean or the best one.
//     Use it on tables, with [TableCandidates].
//
// # Guarantee
//
// Everything here is post-processing: functions of released labels, public rows and random numbers of their
// own. No private record is an input. So a student, or any choice among students on released or public data,
// has the (ε, δ) of its labels, under the same unit and relation, and costs nothing more. [Pool.Select] sees
// no label: the questions are fixed before any is answered, so their choice neither costs nor leaks.
//
// # Caveats
//
//   - The pool must be public: a student may hold its rows and their features.
//   - Labels that were not released (a declined answer, a row never asked) must be [Unlabelled]. True labels
//     or raw votes in their place break the guarantee. So does choosing between students by their accuracy on
//     private data.
//   - Pool rows must not be used to score a student that was trained on them.
//   - Spreading assumes that near rows share a class more often than not. Where that fails, as in many
//     tables, a supervised student is better.
//   - Released labels are noisy: an error in a sparse region spreads over that region.
//   - A class that no released label names is never answered.
//
// # Use
//
//	pool, err := student.NewPool(ctx, features, student.Config{}, rnd)
//	queries, err := pool.Select(ctx, 200, rnd) // ask the teachers about these
//	// labels[i] = student.Unlabelled where none was released
//	model, err := pool.Fit(ctx, labels, classes)
//	err = model.Predict(answers, unseen)
package student
