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
// # Pilot
//
// With [Planning].Pilot a run releases one noisy number before it plans: the mean over queries of the
// largest vote count. A teacher whose votes change, or who comes or goes, moves each largest count by at
// most 1, hence the mean by at most 1, and the mean rounded down by at most 1. It is charged as discrete
// Gaussian noise of sensitivity 1, at [PilotBudget] of what is left. The number lies in
// LEDGER.pilot-N.json, whose hash the ledger commits to; a repeated run reads it there and draws none.
// Mechanism, noise and number of queries of the labels are a function of that number and of public ones,
// and so is a refusal, which leaves the rest of the budget. The cost of the labels follows from a release,
// so the ledger must have mode Filter, whose guarantee covers costs that are chosen by earlier outcomes
// (package ledger). In mode Reserved all costs are fixed before the first release: there the accuracy must
// be declared. A privacy loss distribution charged in advance would have to dominate every plan, of all
// mechanisms; no such event is known here.
//
// A plan for a share must hold at its lower bound, and however the queries differ for that mean (package
// plan). A pilot cannot see a majority for a wrong class, and its mean is over all queries that are offered:
// the first of them, which are asked, should be like the others.
//
// # Guarantee
//
// The labels alone are (Epsilon, Delta)-differentially private for the ledger's unit and relation, under
// the conditions of package aggregate. For all charges to the ledger together, see package ledger. Missing
// noise is chosen from public values: the remaining budget, the number of queries and the caps. Without a
// pilot, the caller of [Planning] states how good the teachers are, and must know this from public data. An
// accuracy measured with private teachers, on any rows, is private, and the plan reveals it. Such a
// measurement, or votes that fail [votes.Source.Check], must be recorded in Account.Waived. Then nothing
// from the run may be released.
//
// # Caveats
//
// A second ledger for the same people is charged again and draws new noise (see package run). A renamed pool
// is not recognised if the teachers or the number of classes differ, and is charged in full.
//
// Destroying a key overwrites and removes its file. Copies in snapshots and backups may remain.
package label
