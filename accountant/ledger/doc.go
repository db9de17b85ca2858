// Package ledger charges the privacy cost of a mechanism before its results are released.
//
// A Ledger has one budget, one privacy unit and one relation. Reserve adds the worst-case cost of a mechanism
// to all earlier reservations. If the total fits the budget, Reserve writes an entry and syncs it to disk. A
// mechanism needs a Reservation to run. Commit records the hash of an outcome before its release.
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
// At each order, Rényi divergences add up, and the total gives an epsilon. The mode decides which order may
// be used.
//
// In mode [Reserved], the default, all reservations precede the first use. The first use writes a seal, after
// which Reserve fails. So the ledger may use the order that is best for all reservations. If
// Config.Accountant selects privacy loss distributions, 13 to 19 % more answers fit the same epsilon.
//
// In mode [Filter] costs may depend on earlier answers. Several programs may use the ledger, one after the
// other. The orders are fixed when the ledger is made, and share delta. Privacy loss distributions cannot be
// used.
//
// Every cost is an event, which is a worst case over all data. A cost that depends on the data cannot be an
// entry, because the number of entries that fit would reveal information.
//
// # Guarantee
//
// All releases under one ledger together are (Epsilon, Delta)-differentially private for its unit and
// relation. In mode Reserved the events do not depend on any answer, so their Rényi curves add up (Mironov
// 2017). The composition of the events' privacy loss distributions is another bound (proof in claim.go).
// Reservations may be used in any sequence. The guarantee is [Ledger.Epsilon]. In mode Filter each Rényi
// order has its own privacy filter with a part of delta, and the parts add up (Feldman, Zrnic 2021;
// interleaved sessions: Haney et al. 2023). The guarantee is the budget, because a total that depends on
// answers is not a guarantee (Rogers et al. 2016).
//
// A crash may waste budget, but never adds any. Reserve and Commit return only after their lines are synced,
// so the file records every released outcome. A last line that is cut off comes from a call that never
// returned. Open repairs such a line:
//
//   - If the line contains a whole event, the event is charged.
//   - If a resumable run will repeat the reservation, only the repeated reservation is charged.
//   - If no resumable run can repeat the reservation, the rest of the budget is charged.
//   - If the line is a seal, the seal is completed.
//
// On a reliable disk, a user may instead remove the line before Open, because no mechanism used it.
//
// # File
//
// The file has mode 0600 and contains lines of JSON. Lines are appended and never changed. Each line has its
// number, the SHA-256 of the previous line ("prev") and the CRC-32C of its earlier bytes ("check"). The first
// line has the Config, the orders, the module version and a random id. A "reserve" line has an event and the
// total epsilon by Rényi divergences. This total may exceed the budget if the total by privacy loss
// distributions fits. A "commit" line has the SHA-256 of an outcome. In mode Reserved one "seal" line has the
// total and, unless Config.Accountant is ByRDP, the accountant. A "run" line has the id of a run that shares
// the ledger. A "torn" line quotes a line that was cut off. A hash can confirm a guess of an outcome, so the
// file must stay secret until the release.
//
// Another version of this package may have sealed a different epsilon. The epsilon of a sealed ledger is the
// larger of the sealed epsilon and the epsilon that this version proves. [Claim] contains both. A sealed
// epsilon is refused if it is above the budget, or below the Floor of this version (see [accountant.Bound]).
// A sealed epsilon may be below the proven epsilon only if both come from privacy loss distributions. The
// difference must then be at most 0.002 or 0.5 % of the proven epsilon, whichever is larger. With accountant
// ByRDP any difference beyond rounding is refused. A file without a seal is refused if the epsilon that this
// version proves exceeds the budget.
//
// # Caveats
//
// A mechanism declares its relation and whether its noise is secret (see [Use]). A ledger with a different
// relation or noise refuses the mechanism. A ledger does not interpret the unit. An event covers one input,
// such as a vote or a row. The caller must ensure that each unit has at most one such input.
//
// Two ledgers about the same people spend both budgets. Use one ledger for all releases about the same
// people.
//
// The hashes and the "check" fields reveal an accidental change and its line. They do not reveal lines
// removed at the end, or an older copy. A forger can compute all hashes and checks again without a key. So
// package run stores the head of the ledger in two other places: next to the ledger, and in the user's state
// folder. [Open] and [Verify] compare the ledger with these heads. If other people can write to both places,
// store the head elsewhere, for example in a privacy statement (package statement). Or sign the head with
// [Sign]. [Open] and [Verify] check the signature.
//
// No mode covers an event chosen by looking at private data.
//
// [Open] blocks while another process holds the file. If the file is then removed, renamed, replaced or
// written by another process, the next write returns [ErrBroken]. On some network mounts (NFS, SMB) a lock is
// not visible to other hosts, so two processes may write to the file. Each append detects most such writes,
// but not all. Use a ledger from one host.
package ledger
