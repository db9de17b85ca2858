// Package label releases the votes of an ensemble as differentially private labels.
//
//	source, err := votes.Open(ctx, []string{"votes.npy"}, votes.Options{Classes: 10})
//	result, err := label.Run(ctx, label.Config{
//		Account: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5},
//		Ledger:  "run.jsonl", Out: "labels.csv", Pool: "test images",
//		Votes:   source, Setting: aggregate.Setting{Mechanism: "gnmax"},
//	})
//
// One [Run] labels a range of queries with one mechanism. Before the first answer, the ledger reserves the
// worst-case cost of the range, given the caps on answers. Run then labels the queries in order, in bounded
// memory, into a temporary file. The ledger commits the hash of this file before the file gets its final
// name. So labels.csv is either absent, or complete, committed and charged.
//
// The noise comes from a key of the run. The key is destroyed when the run is complete. If an interrupted run
// is repeated, the labels are the same bit for bit, at no further cost (see package run).
//
// # Once
//
// A query is identified by the name of its pool, a set of public records, and by its index. In a ledger, each
// query belongs to at most one run. If two runs share an index, and also share the pool or the votes, the
// later run is refused. The refusal does not depend on the labels, the key, the output names or the teachers.
// But a run may repeat an earlier run with the same votes, queries, mechanism, noise, caps and key.
//
// Votes are compared by a hash with a secret key beside the ledger ([run.IDFile]). If the hash had no key, a
// reader of the ledger could confirm a guess of a single vote.
//
// # Pilot
//
// With [Planning].Pilot a run first releases a pilot: the mean of the queries' largest vote counts, rounded
// down, plus discrete Gaussian noise. If one teacher is added, removed or changed, each largest count and the
// rounded mean change by at most 1. So the pilot is charged with sensitivity 1. The pilot takes from 6 % (few
// teachers) to 2 % (many teachers) of the remaining budget. The ledger commits to the hash of the pilot's
// file, LEDGER.pilot-N.json. A repeated run reads this file and draws no new noise. The plan of the labels,
// or the refusal to plan, is a function of the pilot and of public values. After a refusal, only the pilot is
// charged. The cost of the labels depends on the pilot. So the ledger must have mode Filter, with a guarantee
// that covers such costs (package ledger). In mode Reserved all costs are fixed before the first release, so
// the caller must declare the accuracy of the teachers.
//
// The plan must meet [Planning].Goal for several distributions of counts with the pilot's mean. The pilot
// implies a lower bound on the true mean. At this bound, the accuracy may be below the goal by up to
// [plan.ShareSlack]. A pilot cannot detect a majority for a wrong class. The pilot covers all queries, but a
// plan may label only the first queries. So the first queries should resemble the others.
//
// # Guarantee
//
// The labels alone are (Epsilon, Delta)-differentially private for the ledger's unit and relation, under the
// conditions of package aggregate. For all charges to the ledger together, see package ledger. If Setting
// lacks noise, the noise is chosen from public values: the remaining budget, the number of queries and the
// caps. Without a pilot, the caller declares the accuracy of the teachers in [Planning]. This accuracy must
// come from public data. An accuracy measured with private teachers, on any rows, is private, and the plan
// reveals it. For such an accuracy, or for votes that fail [votes.Source.Check], Account.Waived must name the
// skipped check. Then nothing from the run may be released.
//
// # Caveats
//
// A second ledger for the same people is charged again and draws new noise (see package run). Queries of a
// renamed pool are recognised only if all votes in the file are equal. Otherwise, for example with other
// teachers, the queries count as new.
//
// Destroying a key overwrites and removes its file. Copies in snapshots and backups may remain.
package label
