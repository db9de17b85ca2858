// Package ledger charges the privacy cost of a mechanism before its results are released.
//
// A Ledger has one budget, one unit and one relation. Reserve adds the worst case of a mechanism to
// everything reserved before. If the sum fits the budget, Reserve writes an entry and syncs it to disk. A
// mechanism needs the Reservation to run. Commit records the hash of an outcome before its release.
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
// Rényi curves add, and each order gives an epsilon. The time of the charges decides which order may be used.
//
// In mode [Reserved], the default, all reservations precede the first use. The first use writes a seal, after
// which Reserve fails. The order is then chosen for the whole ledger. With Config.Accountant, privacy loss
// distributions allow 13 to 19 % more answers at the same epsilon.
//
// In mode [Filter] costs may depend on earlier answers, also from several programs in turn. The orders are
// fixed when the ledger is made, and delta is split among them. Privacy loss distributions cannot be used.
// The rule "some order is in budget" with undivided delta cannot be configured: for some mechanisms it
// doubles delta.
//
// Costs are events, which are worst cases over all data. A cost that depends on the data cannot be an entry,
// because even the decision to stop would reveal something.
//
// # Guarantee
//
// All releases under one ledger together are (Epsilon, Delta)-differentially private for its unit and
// relation. In mode Reserved the curves do not depend on any answer, so they add up (Mironov 2017). Their
// sum, [Ledger.Epsilon], is the guarantee. The composition of all privacy loss distributions bounds the same
// run in any order of use (proof in claim.go). In mode Filter each order bounds the runs that end within it,
// and the parts of delta add up (Feldman, Zrnic 2021; with interleaved sessions, Haney et al. 2023). The
// guarantee is then the budget, because a total that depends on answers bounds nothing (Rogers et al. 2016).
//
// A crash may waste budget but never returns any. Reserve and Commit return after their lines are synced, so
// the file has every outcome that was released. A last line that was cut off belongs to a call that never
// returned. It counts as reserved when the file is opened again:
//
//   - If the line contains the whole event, the event is charged.
//   - Otherwise a resumable run is charged when it repeats the reservation.
//   - Without such a run, the rest of the budget is charged.
//   - A seal that was cut off is a seal.
//
// After a crash on a reliable disk, the line may be removed by hand before opening: nothing ran under it.
//
// # File
//
// The file has mode 0600 and contains lines of JSON. Lines are appended and never changed. The header has the
// Config, the orders, the module version and a random id. A "reserve" line has an event and the total epsilon
// by Rényi divergences, which may exceed the budget if privacy loss distributions make the event fit. A
// "commit" line has the SHA-256 of an outcome. In mode Reserved one "seal" line has the total and, if several
// were possible, the accountant. A "run" line has the id of a run that shares the ledger. A "torn" line has a
// line that was cut off. Each line has its number, the SHA-256 of the previous line ("prev") and the CRC-32C
// of its earlier bytes ("check"). A hash can confirm a guess, so the file is secret until release.
//
// The epsilon of a sealed ledger is the larger of its seal and of the epsilon that this version proves.
// Another version may have sealed a different epsilon. The file is valid if the seal is within the budget and
// above the floor of this version's interval (see [accountant.Claim]). [Claim] then holds both values. A seal
// below the floor is corrupt, and so is a seal more than half a percent and 0.002 below the proven epsilon. A
// file without a seal is refused if its reservations exceed the budget by this version.
//
// # Caveats
//
// A mechanism states in its [Use] whether its event holds for one relation only, and whether its noise is
// secret. A ledger with a different relation or noise refuses it. The ledger does not interpret the unit. An
// event covers one input, such as a vote or a row. The caller must ensure at most one such input per unit.
//
// No accounting covers several ledgers: two ledgers about the same people spend both budgets. Use one ledger
// for all releases about the same people.
//
// The chain of hashes and the "check" fields reveal an accidental change and its line. They do not reveal
// lines removed at the end, or an older copy. A forger can compute all hashes again, because they have no
// key. So package run stores [Ledger.Head] next to the ledger and in the user's state folder, and [Open] and
// [Verify] compare it. If others may write there, store the head that the statement prints elsewhere. [Sign]
// signs a head, and [Open] and [Verify] check the signature.
//
// Config.Data is compared, not interpreted. No mode covers a worst case that was chosen from private data.
//
// [Open] blocks while another process holds the file. If the file is then removed, renamed, replaced or
// written by another process, the next write returns [ErrBroken]. On some network mounts (NFS, SMB) locks do
// not hold between hosts, and two processes may hold the file. A check of the size and of the written lines
// detects most such writes, but not all. Use a ledger from one host.
package ledger
