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
// A query is identified by the name of its pool, a set of public records, and by its index. In a ledger,
// each query belongs to at most one run. A later run is refused if it shares an index with an earlier run,
// and the two runs have the same pool or the same votes. The refusal does not depend on the labels, the
// key, the output names or the teachers. The exception is a run that repeats the earlier run: with the
// same votes, queries, mechanism, noise, caps and key.
//
// Votes are compared by a hash whose key is a secret beside the ledger ([run.IDFile]). If the hash had
// no key, a reader of the ledger could confirm a guess of a single vote.
//
// # Pilot
//
// With [Planning].Pilot a run first releases a pilot: the mean over queries of the largest vote count,
// rounded down, plus discrete Gaussian noise. If one teacher is added, removed or changed, each largest
// count changes by at most 1, and so does the rounded mean. So the pilot is charged with sensitivity 1.
// The pilot takes from 6 % (few teachers) to 2 % (many teachers) of the remaining budget. The ledger
// commits to the hash of the pilot's file, LEDGER.pilot-N.json. A repeated run reads this file and draws
// no new noise. The plan of the labels, or the refusal to plan, is a function of the pilot and of public
// values. After a refusal, only the pilot is charged. The cost of the labels depends on the pilot, so the
// ledger must have mode Filter, whose guarantee covers costs that depend on earlier releases (package
// ledger). In mode Reserved all costs are fixed before the first release, so the plan needs a declared
// accuracy of the teachers instead.
//
// The plan must meet [Planning].Goal for several distributions of counts with the pilot's mean. If the
// mean is only the pilot's lower bound, the accuracy may be lower by [plan.ShareSlack]. A pilot cannot
// detect a majority for a wrong class. The pilot's mean is over all queries, but a plan may label the
// first queries only. So the first queries should resemble the others.
//
// # Guarantee
//
// The labels alone are (Epsilon, Delta)-differentially private for the ledger's unit and relation, under the
// conditions of package aggregate. For all charges to the ledger together, see package ledger. If Setting
// lacks noise, the noise is chosen from public values: the remaining budget, the number of queries and the
// caps. Without a pilot, the caller declares in [Planning] how accurate the teachers are. This accuracy must
// come from public data: if it was measured with private teachers, on any rows, it is private, and the plan
// reveals it. Such a measurement, or votes that fail [votes.Source.Check], must be recorded in
// Account.Waived. Then nothing from the run may be released.
//
// # Caveats
//
// A second ledger for the same people is charged again and draws new noise (see package run). If a pool is
// renamed, its queries are recognised only if all votes in the file are equal. Otherwise, for example with
// other teachers, the queries count as new.
//
// Destroying a key overwrites and removes its file. Copies in snapshots and backups may remain.
package label
