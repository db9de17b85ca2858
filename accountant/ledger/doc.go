// Package ledger charges privacy before anything is released.
//
// A Ledger has one budget, one unit and one relation. Reserve composes the worst case of a mechanism with
// everything reserved before, refuses it if the budget is exceeded, writes the entry and syncs it to disk;
// a mechanism runs only when handed the Reservation. Commit records the outcome's hash before the outcome
// leaves. There is no refund.
//
//	l, err := ledger.Open(ctx, "run.jsonl", ledger.Config{
//		Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5,
//	}, ledger.VerifyOptions{})
//	r, err := l.Reserve(mechanism.Event())
//	session, err := mechanism.Start(r, key)
//	…
//	err = l.Commit(r, labels) // and only then they leave
//
// # Modes
//
// Rényi curves add, and each order gives an epsilon. Which order may be used depends on who chose the
// costs. In mode [Reserved], the default, everything is reserved before anything is used; the first use
// writes a seal, after which nothing can be reserved, and the order is chosen over the whole. With
// Config.Accountant privacy loss distributions may claim too, which gives 13 to 19 % more answers for the
// same epsilon. In mode [Filter] costs may be chosen while looking at earlier answers, by several programs,
// one after the other; the orders are fixed when the ledger is made and delta is split among them. Loss
// distributions are no filter. "Go on while some order is still in budget", without the split, cannot be
// expressed: there are mechanisms whose delta it doubles.
//
// Costs are accountant events, worst cases over all data. A cost that depends on the data is no event and
// no entry: even stopping by it would leak.
//
// # Guarantee
//
// Everything released under reservations of one ledger is together (Epsilon, Delta)-differentially private
// for its unit and relation. In mode Reserved the curves do not depend on any answer, so they add up as
// curves (Mironov 2017) and their sum, [Ledger.Epsilon], is the guarantee. Nor do the pairs of the events,
// so the composition of all privacy loss distributions bounds the same run, in whatever order it used the
// events: claim.go has the argument. In mode Filter each order bounds the runs that end within it (Feldman,
// Zrnic 2021; with interleaved sessions, Haney et al. 2023) and the shares of delta add up; the guarantee
// is the budget, used up or not, since a total reached by choice bounds nothing (Rogers et al. 2016).
//
// A crash may cost budget; it never returns any. Reserve and Commit return when their lines are synced, so
// every outcome that left under them is in the file after any crash. A last line that was cut off belongs
// to a call that never returned. When the file is opened again it counts as reserved: a reservation that
// names its event is charged; one that does not yet is charged when a resumable run repeats it, or else
// counts as all of the budget that was left. A seal that was cut off is a seal. If that was a crash of this
// machine and its disk keeps its promises, the fragment may instead be cut off by hand before opening:
// nothing ran under it.
//
// # File
//
// Lines of JSON, of mode 0600, appended and never changed: a header with the Config, the orders, the
// version of this module and a random id; "reserve" with the event and the total it makes by Rényi
// divergences, which is above the budget where only privacy loss distributions make it fit; "commit" with
// the SHA-256 of an outcome; in mode Reserved one "seal", with the total and, where there was a choice, the
// accountant that proved it; "run", which names a run that shares the ledger; and "torn", for a line that
// was cut off. Each holds its number, in "prev" the SHA-256 of the line before it without newline, and in
// "check" the CRC-32C of itself up to there. Outcomes are hashed as they are: a person who can guess one
// can confirm it, so the file is as secret as the outcomes until they are released.
//
// The claim of a sealed ledger is the larger of its seal and of the epsilon that this version proves.
// Another version, whose privacy loss distributions end elsewhere in their gap or prove more, may have
// sealed another epsilon: if that lies above the floor of this version's interval (see [accountant.Claim])
// and within the budget, the file is whole, and [Claim] holds both numbers. The floor bounds the cost from
// below, and so proves no seal below the upper end. A seal below the floor, or more than half a percent and
// 0.002 under the proven epsilon, is corrupt. Without a seal nothing records another version's proof:
// reservations that fill the budget to the last digit by its privacy loss distributions, and exceed it by
// those here, are refused. Nothing was released under them.
//
// # Caveats
//
// An event may bound a mechanism for one relation only, and noise may come from a seed: the mechanism's
// [Use] has both when it begins, and a ledger that stands for something else refuses it. The unit is a word
// to the ledger. Events are for one input of the mechanism, such as a vote or a row. The caller must make
// sure that one unit has at most one such input; the ledger cannot check it.
//
// Nothing accounts across ledgers: two over the same people spend both budgets. The caller must open one
// ledger for all.
//
// An accidental change inside the file is found, with its line, by the chain of hashes; one in the last
// line by its own check. Lines removed at the end, and an older copy, are whole, shorter ledgers, and a
// forger can hash everything again: the chain has no key. Package run keeps [Ledger.Head] for that, beside
// the ledger and in the user's state folder; [Open] and [Verify] compare it. Where somebody may write there
// too, keep the head, which the statement prints, where they cannot. [Sign] signs a head, where it matters
// who vouches for a ledger; [Open] and [Verify] check the signature.
//
// Data, in Config, is compared and not looked at. Sealing sees the use of reservations, not what their
// author has read: a worst case chosen by looking at the private data themselves is covered by nothing.
//
// [Open] blocks while another process holds the file. The next write finds a file that was removed, renamed
// or replaced meanwhile, and returns [ErrBroken]. So it does for a file to which somebody else has written:
// on a file system whose locks do not hold between hosts, such as some mounts of NFS or SMB, two may hold
// it at once. Before every append the size is compared, and after it the lines are read back; that narrows
// the gap and does not close it. Use a ledger from one host.
package ledger
