// Package label releases the votes of an ensemble as private labels, once.
//
//	source, err := votes.Open(ctx, []string{"votes.npy"}, votes.Options{Classes: 10})
//	result, err := label.Run(ctx, label.Config{
//		Account: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5},
//		Ledger:  "run.jsonl", Out: "labels.csv", Pool: "test images",
//		Votes:   source, Setting: aggregate.Setting{Mechanism: "gnmax"},
//	})
//
// One [Run] answers a range of queries by one mechanism. The ledger reserves the worst case, for all
// questions and answers that the caps allow, before the first draw. Then queries are answered in order, in
// bounded memory, into a temporary file. The ledger commits to the file's hash, and only then the file is
// renamed to its final name. So labels.csv is either absent, or complete, committed and paid.
//
// The noise comes from a key of the run, which is destroyed when the run is complete. Repeating an
// interrupted run gives bit for bit the same labels at no further cost; see package run.
//
// # Once
//
// A query is identified by its pool, the set of public records that was voted on, and its index. On one
// ledger a query is answered in one run only: a run that shares a query, or the votes on it, with an earlier
// one is refused unless it is that run, with the same votes, queries, mechanism, noise, caps and key. This
// also holds if the labels, the key or the output names have changed or are gone, and for votes of other
// teachers on the same pool.
//
// Votes are compared by a hash keyed with a secret, which is stored beside the ledger ([release.IDFile]). A
// hash without a key would confirm a guess of a single vote, and a ledger is meant to be shown.
//
// # Guarantee
//
// The labels are (Epsilon, Delta)-differentially private by themselves, for unit and relation of the ledger,
// under the conditions of package aggregate. Together with everything else charged to the ledger they have
// the guarantee of package ledger. Missing noise is chosen from the remaining budget, the number of queries
// and the caps, which are public, and never from votes. The caller of [Plan] states how good the teachers
// are, and must know this from public data: if measured by votes of private teachers, on any rows, it is
// private, and the plan reveals it. A caller who uses such a measurement, or labels votes that fail a check
// ([votes.Source.Check]), must record this in Account.Waived, and nothing from the run may be released.
//
// # Caveats
//
// A second ledger for the same people charges and draws again; package run lists the caveats of ledgers. A
// pool under another name is not recognised if the votes are of other teachers or with another number of
// classes: it is charged in full.
//
// Destroying a key overwrites and removes its file. Copies on disks, in snapshots and in backups may remain.
package label
