// Package ledger charges privacy before anything is released.
//
// A Ledger has one budget, one unit and one relation. Reserve composes the worst case of a mechanism with
// everything reserved before, refuses it if the budget is exceeded, writes the entry and syncs it to disk. A
// mechanism runs only when it is given the Reservation. Commit records the outcome's hash before the outcome
// is released. There is no refund.
//
//	l, err := ledger.Open(ctx, "run.jsonl", ledger.Config{
//		Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5,
//	}, ledger.VerifyOptions{})
//	r, err := l.Reserve(mechanism.Event())
//	session, err := mechanism.Start(r, key)
//	…
//	err = l.Commit(r, labels) // release the labels only after this
//
// # Modes
//
// Rényi curves add, and each order gives an epsilon. Which order may be used depends on when the costs were
// chosen. In mode [Reserved], the default, everything is reserved before anything is used. The first use
// writes a seal, after which nothing can be reserved; the order is then chosen for the whole ledger. With
// Config.Accountant the claim may also use privacy loss distributions: 13 to 19 % more answers for the same
// epsilon. In mode [Filter] costs may be chosen while looking at earlier answers, by several programs in
// turn. The orders are fixed when the ledger is made, and delta is split among them. Loss distributions are
// no filter. "Continue while some order is still in budget", without the split, cannot be expressed: for some
// mechanisms it doubles delta.
//
// Costs are accountant events: worst cases over all data. A cost that depends on the data cannot be an entry:
// even the decision to stop would leak.
//
// # Guarantee
//
// Everything released under reservations of one ledger is together (Epsilon, Delta)-differentially private
// for its unit and relation. In mode Reserved the curves do not depend on any answer, so they add up (Mironov
// 2017), and their sum, [Ledger.Epsilon], is the guarantee. The dominating pairs do not depend on answers
// either, so the composition of all privacy loss distributions bounds the same run in any order of use;
// claim.go has the argument. In mode Filter each order bounds the runs that end within it (Feldman, Zrnic
// 2021; with interleaved sessions, Haney et al. 2023), and their parts of delta add up. The guarantee is the
// whole budget, since a total reached by choice bounds nothing (Rogers et al. 2016).
//
// A crash may cost budget; it never returns any. Reserve and Commit return after their lines are synced, so
// after any crash the file has every outcome released under them. A last line that was cut off belongs to a
// call that never returned; it counts as reserved when the file is opened again. If it holds the whole event,
// the event is charged. Otherwise a resumable run is charged when it repeats the reservation; without such a
// run, all the rest of the budget is charged. A seal that was cut off is a seal. After a crash of this
// machine, with a disk that keeps its promises, the fragment may instead be cut off by hand before opening:
// nothing ran under it.
//
// # File
//
// The file has mode 0600 and lines of JSON that are appended and never changed. The header has the Config,
// the orders, the version of this module and a random id. "reserve" has an event and the total epsilon with
// it by Rényi divergences, which may exceed the budget if privacy loss distributions make it fit. "commit"
// has the SHA-256 of an outcome. In mode Reserved one "seal" has the total and, if there was a choice, the
// accountant that proved it. "run" has the id of a run that shares the ledger; "torn", a line that was cut
// off. Each line has its number, in "prev" the SHA-256 of the line before, without newline, and in "check"
// the CRC-32C of itself up to there. A guess of an outcome can be confirmed by its hash: the file is secret
// until release.
//
// The claim of a sealed ledger is the larger of its seal and of the epsilon that this version proves. Another
// version, with other or tighter privacy loss distributions, may have sealed another epsilon. If that lies
// above the floor of this version's interval (see [accountant.Claim]) and within the budget, the file is
// whole, and [Claim] holds both values. The floor bounds the cost from below, so it proves no seal below the
// upper end. A seal below the floor, or more than half a percent and 0.002 under the proven epsilon, is
// corrupt. Without a seal nothing records another version's proof: reservations that fit the budget only by
// the other version's privacy loss distributions are refused. Nothing was released under them.
//
// # Caveats
//
// An event may bound a mechanism for one relation only, and noise may come from a seed: the mechanism states
// both in its [Use] when it begins, and a ledger with another relation or noise refuses it. The ledger does
// not interpret the unit. An event covers one input of the mechanism, such as a vote or a row; the caller
// must make sure that one unit has at most one such input, which the ledger cannot check.
//
// Nothing accounts across ledgers: two ledgers over the same people spend both budgets. The caller must open
// one ledger for all releases.
//
// The chain of hashes reveals the line of an accidental change inside the file; for the last line, its
// "check" does. It cannot reveal lines removed at the end or an older copy; and, as it has no key, a forger
// can hash all lines again. Package run therefore keeps [Ledger.Head] beside the ledger and in the user's
// state folder; [Open] and [Verify] compare it. If others may write there too, keep the head that the
// statement prints where they cannot write. [Sign] signs a head, to show who vouches for it; [Open] and
// [Verify] check the signature.
//
// Config.Data is compared and not interpreted. Sealing covers the use of reservations, not what their author
// has read: nothing covers a worst case that was chosen by looking at the private data themselves.
//
// [Open] blocks while another process holds the file. If the file was removed, renamed, replaced or written
// by somebody else meanwhile, the next write returns [ErrBroken]. On a file system whose locks do not hold
// between hosts, such as some mounts of NFS or SMB, two processes may hold the file at once. Before every
// append the size is compared, and after it the lines are read back; that narrows the gap and does not close
// it. Use a ledger from one host.
package ledger
