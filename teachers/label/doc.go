// Package label releases the votes of an ensemble as private labels, once.
//
//	source, err := votes.Open(ctx, []string{"votes.npy"}, votes.Options{Classes: 10})
//	result, err := label.Run(ctx, label.Config{
//		Account: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5},
//		Ledger:  "run.jsonl", Out: "labels.csv", Pool: "test images",
//		Votes:   source, Setting: aggregate.Setting{Mechanism: "gnmax"},
//	})
//
// One [Run] answers a range of queries by one mechanism. Its worst case, for all questions and answers that
// its caps allow, is reserved in the ledger before the first draw; then queries are answered in order, in
// bounded memory, into a file that does not yet have its name; the file's hash is committed; and only then
// the file gets its name. So labels.csv is wholly there, committed and paid, or it is not there.
//
// The noise comes from a key of the run, which is destroyed when the run is complete. Repeating a run that was
// interrupted gives the same labels bit for bit and is charged nothing more; see package run.
//
// # Once
//
// A query is named by its pool, the set of public records that was voted on, and its number. On one ledger
// a query is answered in one run: a run that shares a query, or the votes on it, with an earlier one is
// refused unless it is that run, with the same votes, queries, mechanism, noise, caps and key. This holds
// when the labels, the key or the names of the output differ or are gone, and for votes of other teachers
// on the same pool.
//
// Votes are compared by their hash under a secret that lies beside the ledger ([release.IDFile]). The bare
// hash of a matrix of votes confirms a guess of any one vote, and a ledger is made to be shown.
//
// # Guarantee
//
// The labels are (Epsilon, Delta)-differentially private by themselves, for unit and relation of the
// ledger, under the conditions of package aggregate; together with everything else that the ledger charged
// they have the guarantee of package ledger. Noise that was not given is chosen from the budget that is
// left, the number of queries and the caps, which are public, and never from votes. How good the teachers
// are [Plan] takes from its caller, who must have it from public data: measured by the votes of private
// teachers, on any rows, it is private, and the plan shows it. A caller who plans so, or labels votes that
// fail a check ([votes.Source.Check]), must put that into Account.Waived, and nothing of the run may be
// released.
//
// # Caveats
//
// A second ledger for the same people charges and draws anew; package run has the caveats of ledgers. A pool
// under another name, with votes of other teachers or another number of classes, is charged in full and not
// recognised.
//
// Destroying a key overwrites and removes its file. Disks, snapshots and backups may remember it.
package label
