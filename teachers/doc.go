// Package teachers trains one model on each of many disjoint parts of a
// private data set and gathers the models' votes on a public set of queries.
//
// The model of private aggregation of teacher ensembles (Papernot et al. 2017):
//
//   - [Partition] gives every record to one teacher by a keyed hash of the
//     record's unit id, and of nothing else;
//   - [Train] fits one [Learner] per teacher, each on its own share with its
//     own random stream, asks it for a class of every public query and drops
//     the model; only the votes stay;
//   - the result is a [votes.Matrix], queries x teachers. A row of it becomes an
//     aggregate.Histogram, and that is where noise, accounting and release
//     begin: nothing in this package adds noise.
//
// Package votes also reads the votes of models that were trained elsewhere, and
// package manifest checks that their silos are disjoint.
//
// # Guarantee
//
// One unit (a record, or everything of one person when records share a unit
// id) belongs to one teacher, whoever else is in the data. So adding, removing
// or replacing one unit changes one column of the vote matrix, always the same
// one: in every row one vote may move from any class to any class. Replacing a
// unit under its own id is meant; a replacement under another id is one removal
// and one addition and may touch two teachers. All costs in package aggregate
// rest on this, and it holds because
//
//   - the partition of a record does not depend on other records;
//   - teacher t's random stream is derived from (key, t), so it does not depend
//     on how many numbers other teachers drew;
//   - a teacher sees its own share only: no shared normalisation, vocabulary,
//     validation set or early stopping.
//
// The number of teachers, the classes, the queries and the learner with its
// parameters must be chosen without looking at the private data.
//
// # Caveats
//
// Votes are as secret as the data: see package votes. A teacher whose share
// is empty votes class 0 on everything and one whose share has a single class
// votes that class; neither abstains, so the sum of a row is public.
// How long training takes depends on private data (sizes of the shares), as
// with every learner; nothing here hides it.
//
// # Use
//
//	share, err := teachers.Partition(units, 250, key.Derive("partition"))
//	matrix, err := teachers.Train(ctx, teachers.Config{Learner: teachers.KernelRidge{Gamma: .02, Lambda: .05}, Teachers: 250, Key: key}, private, share, queries)
//	histogram, err := matrix.Histogram(0)
package teachers
