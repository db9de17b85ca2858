// Package teachers trains one model on each of many disjoint parts of a private data set and gathers the
// models' votes on a public set of queries, the first half of private aggregation of teacher ensembles
// (Papernot et al. 2017):
//
//   - [Partition] gives every record to one teacher, by a keyed hash of the record's unit id alone.
//   - [Train] fits one [Learner] per teacher, each on its own part of the data (its share) with its own
//     random stream, predicts a class for every public query and drops the model. Only the votes are kept.
//   - The result is a [votes.Matrix], queries x teachers, each row of which becomes an aggregate.Histogram.
//     Noise, accounting and release follow from there: nothing in this package adds noise.
//
// Package votes also reads the votes of models that were trained elsewhere, and package manifest checks that
// their silos are disjoint.
//
// # Guarantee
//
// A unit is a record, or everything of one person when records share a unit id. One unit belongs to one
// teacher, no matter which other units are in the data. So adding, removing or replacing one unit changes one
// column of the vote matrix, always the same one: in every row one vote may move from any class to any class.
// Here replacing means replacing a unit under its own id; a replacement under another id is one removal and
// one addition and may touch two teachers. All costs in package aggregate rest on this. It holds because
//
//   - the partition of a record does not depend on other records,
//   - teacher t's random stream is derived from (key, t), and is independent of what other teachers draw,
//   - a teacher sees its own share only: there is no shared normalisation, vocabulary, validation set or
//     early stopping.
//
// Choose the number of teachers, the classes, the queries and the learner with its parameters without looking
// at the private data.
//
// # Caveats
//
//   - Votes are as secret as the data: see package votes.
//   - A teacher whose share is empty votes class 0 on everything, one whose share has a single class votes
//     that class. Neither abstains, so the sum of a row is public.
//   - The training time depends on the sizes of private shares. This package does not hide it.
//
// # Use
//
//	share, err := teachers.Partition(units, 250, key.Derive("partition"))
//	learner := teachers.KernelRidge{Gamma: .02, Lambda: .05}
//	cfg := teachers.Config{Learner: learner, Teachers: 250, Key: key}
//	matrix, err := teachers.Train(ctx, cfg, private, share, queries)
//	histogram, err := matrix.Histogram(0)
package teachers
