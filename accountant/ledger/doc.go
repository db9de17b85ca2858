// Package ledger charges privacy before anything is released.
//
// A Ledger has one budget, one unit and one relation. Reserve composes the
// worst case of what is about to run with everything reserved before, refuses
// what does not fit, writes the entry and syncs it to disk; a mechanism runs
// only when handed the Reservation. Commit records the outcome's hash before
// the outcome leaves. There is no refund.
//
//	l, err := ledger.Open("run.jsonl", ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5})
//	r, err := l.Reserve(mechanism.Event())
//	session, err := mechanism.Start(r, key)
//
// # Guarantee
//
// Everything released under reservations of one ledger is together
// (Epsilon, Delta)-differentially private for its unit and relation, because
// the events are worst cases fixed before they ran, so their Rényi curves add
// and the order may be chosen at the end (adaptive composition, Mironov 2017).
// A crash may cost budget; it never returns any.
//
// # Caveats
//
// Costs chosen while looking at answers need a filter with one order fixed in
// advance, which this package does not offer yet.
//
// A budget is that of one ledger. Nothing accounts across ledgers: two over the
// same people spend both budgets, and it is the caller who has to open one for all.
//
// The chain of hashes has no key. It shows accidents and careless edits inside the
// file, not the removal of its last lines, and not a forger who hashes everything
// again: where that matters keep the file, or the hash of its last line, where the
// forger cannot write.
//
// [Open] blocks while another process holds the file.
package ledger
