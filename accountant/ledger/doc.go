// Package ledger charges the privacy cost of a mechanism before its results are released.
//
// A Ledger has one budget, one unit and one relation. Reserve adds the worst-case cost of a mechanism to all
// earlier reservations. If the total fits the budget, Reserve writes an entry and syncs it to disk. A
// mechanism runs only with its Reservation. Commit records the hash of an outcome before its release.
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
// Rényi curves add up, and each order gives an epsilon. The mode decides which order may be used.
//
// In mode [Reserved], the default, all reservations precede the first use. The first use writes a seal, after
// which Reserve fails. So the best order for all reservations may be used. If Config.Accountant selects
// privacy loss distributions, 13 to 19 % more answers fit the same epsilon.
//
// In mode [Filter] costs may depend on earlier answers. Several programs may use the ledger, one after the
// other. The orders are fixed when the ledger is made, and delta is split among them. Privacy loss
// distributions cannot be used. A filter that gives every order the whole delta is not offered, because it
// can double delta.
//
// A cost is an event, a worst case over all data. A cost that depends on the data cannot be an entry, because
// the decision to stop would reveal information.
//
// # Guarantee
//
// All releases under one ledger together are (Epsilon, Delta)-differentially private for its unit and
// relation. In mode Reserved the curves do not depend on any answer, so they add up (Mironov 2017). The
// guarantee is [Ledger.Epsilon], the epsilon of their sum. The composition of all privacy loss distributions
// bounds the same run in any order of use (proof in claim.go). In mode Filter each order has a filter with a
// part of delta. The parts add up (Feldman, Zrnic 2021; interleaved sessions: Haney et al. 2023). The
// guarantee is then the budget. A total that depends on answers is no guarantee (Rogers et al. 2016).
//
// A crash may waste budget but never returns any. Reserve and Commit return after their lines are synced, so
// the file has every released outcome. A last line that is cut off is from a call that never returned. It
// counts as reserved when the file is opened again:
//
//   - If the line contains the whole event, the event is charged.
//   - Otherwise a resumable run is charged when it repeats the reservation.
//   - If no resumable run can repeat it, the rest of the budget is charged.
//   - A seal that is cut off counts as a seal.
//
// After a crash on a reliable disk, the line may be removed by hand before Open. Nothing ran under it.
//
// # File
//
// The file has mode 0600 and contains lines of JSON. Lines are appended and never changed. The header has the
// Config, the orders, the module version and a random id. A "reserve" line has an event and the total epsilon
// by Rényi divergences. This epsilon may exceed the budget if the event fits by privacy loss distributions. A
// "commit" line has the SHA-256 of an outcome. In mode Reserved one "seal" line has the total and, unless
// Config.Accountant is ByRDP, the accountant. A "run" line has the id of a run that shares the ledger. A
// "torn" line quotes a line that was cut off. Each line has its number, the SHA-256 of the previous line
// ("prev") and the CRC-32C of its earlier bytes ("check"). A hash can confirm a guess, so the file is secret
// until release.
//
// The epsilon of a sealed ledger is the larger of its seal and of the epsilon that this version proves.
// Another version may have sealed a different epsilon. The file is valid if the seal is within the budget and
// above the floor of this version's interval (see [accountant.Claim]). [Claim] then holds both values. A seal
// below the floor is corrupt. So is a seal below the proven epsilon by more than both 0.5 % and 0.002. A file
// without a seal is refused if the epsilon that this version proves exceeds the budget.
//
// # Caveats
//
// The [Use] of a mechanism contains the only relation for which its event holds, and whether its noise is
// secret. A ledger with a different relation or noise refuses the mechanism. The ledger does not interpret
// the unit. An event covers one input, such as a vote or a row. The caller must ensure at most one such input
// per unit.
//
// No ledger limits the total of several ledgers. Two ledgers about the same people spend both budgets. Use
// one ledger for all releases about the same people.
//
// The chain of hashes and the "check" fields reveal an accidental change and its line. They do not reveal
// lines removed at the end, or an older copy. The hashes have no key, so a forger can compute them again. So
// package run stores [Ledger.Head] next to the ledger and in the user's state folder, and [Open] and [Verify]
// compare it. If other people can write to these folders, store a statement elsewhere, because it contains
// the head. [Sign] signs a head, and [Open] and [Verify] check the signature.
//
// Config.Data is compared, not interpreted. No mode covers an event that was chosen from private data.
//
// [Open] blocks while another process holds the file. If the file is then removed, renamed, replaced or
// written by another process, the next write returns [ErrBroken]. On some network mounts (NFS, SMB) locks do
// not hold between hosts, and two processes may hold the file. A check of the size and of the written lines
// detects most such writes, but not all. Use a ledger from one host.
package ledger
