// Package teachers trains one model, a teacher, on each of many disjoint partitions of a private data set. It
// collects the teachers' votes on public queries. This is the first half of PATE (Papernot et al. 2017):
//
//   - [Partition] assigns every record to one teacher by a keyed hash of the record's unit id.
//   - [Train] fits one [Learner] per teacher on the teacher's own data, with the teacher's own random stream.
//     Each model predicts a class for every query. Train keeps the votes and drops the models.
//   - The result is a [votes.Matrix] with a row per query and a column per teacher. Package aggregate turns
//     rows into labels and adds the noise.
//
// Package votes reads the votes of models that were trained elsewhere. Package manifest checks that the data
// of such models are disjoint.
//
// # Guarantee
//
// A unit is a record, or all records with the same unit id. If one unit is added, removed or replaced, at
// most one column of the vote matrix changes. In each row, one vote may move from any class to any class. A
// replacement must keep the unit id: otherwise two columns may change. All costs in package aggregate rely on
// this guarantee. The guarantee holds because:
//
//   - the teacher of a record does not depend on other records,
//   - the random stream of teacher t is derived from (key, t) and is independent of all other streams,
//   - a teacher uses only its own data: no normalisation, vocabulary, validation set or early stopping is
//     shared.
//
// Choose the number of teachers, classes, queries, learner and parameters without the private data.
//
// # Caveats
//
//   - Votes are as secret as the data (see package votes).
//   - A teacher without records votes for class 0. A teacher with records of one class votes for that class.
//     No learner of this module abstains, so the number of votes on a query is public.
//   - The training time depends on the private partition sizes, and is not hidden.
//
// # Use
//
//	share, err := teachers.Partition(units, 250, key.Derive("partition"))
//	learner := teachers.KernelRidge{Gamma: .02, Lambda: .05}
//	cfg := teachers.Config{Learner: learner, Teachers: 250, Key: key}
//	matrix, err := teachers.Train(ctx, cfg, private, share, queries)
//	histogram, err := matrix.Histogram(0)
package teachers
