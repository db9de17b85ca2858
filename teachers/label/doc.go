// Package label releases the votes of an ensemble as differentially private labels.
//
//	source, err := votes.Open(ctx, []string{"votes.npy"}, votes.Options{Classes: 10})
//	result, err := label.Run(ctx, label.Config{
//		Account: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5},
//		Ledger:  "run.jsonl", Out: "labels.csv", Pool: "test images",
//		Votes:   source, Setting: aggregate.Setting{Mechanism: "gnmax"},
//	})
//
// One [Run] labels a range of queries with one mechanism. Before the first draw, the ledger reserves the
// worst-case cost of all queries and answers that the caps allow. Run then labels the queries in order, in
// bounded memory, into a temporary file. The ledger commits the hash of this file. Only then is the file
// renamed to its final name. So labels.csv is either absent, or complete, committed and charged.
//
// The noise comes from a key of the run. The key is destroyed when the run is complete. Repeating an
// interrupted run gives the same labels bit for bit, at no further cost (see package run).
//
// # Once
//
// A query is identified by its pool and its index. The pool names the set of public records that was voted
// on. A ledger allows each query in one run only. A later run is refused if it has the same query, or the
// same votes on it. The exception is a repetition with the same votes, queries, mechanism, noise, caps and
// key. The refusal does not depend on the labels, the key, the output names or the teachers.
//
// Votes are compared by a keyed hash, whose key is a secret beside the ledger ([release.IDFile]). A hash
// without a key would confirm a guess of a single vote, and ledgers are shown to others.
//
// # Guarantee
//
// The labels alone are (Epsilon, Delta)-differentially private for the ledger's unit and relation, under the
// conditions of package aggregate. For all charges to the ledger together, see package ledger. Missing noise
// is chosen from public values: the remaining budget, the number of queries and the caps. The caller of
// [Plan] states how good the teachers are, and must know this from public data. An accuracy measured with
// private teachers, on any rows, is private, and the plan reveals it. Such a measurement, or votes that fail
// [votes.Source.Check], must be recorded in Account.Waived. Then nothing from the run may be released.
//
// # Caveats
//
// A second ledger for the same people is charged again and draws new noise (see package run). A renamed pool
// is not recognised if the teachers or the number of classes differ, and is charged in full.
//
// Destroying a key overwrites and removes its file. Copies in snapshots and backups may remain.
package label
