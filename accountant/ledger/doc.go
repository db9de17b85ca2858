// Package ledger charges privacy before anything is released.
//
// A Ledger has one budget, one unit and one relation. Reserve composes the worst case of what is about to
// run with everything reserved before, refuses what does not fit, writes the entry and syncs it to disk; a
// mechanism runs only when handed the Reservation. Commit records the outcome's hash before the outcome
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
// costs, so a Config says it. In mode [Reserved], the default, everything is reserved before anything is
// used; the first use writes a seal, after which nothing can be reserved, and the order is chosen over the
// whole. With Config.Accountant loss distributions may claim too, which gives 13 to 19 % more answers for
// the same epsilon. In mode [Filter] costs may be chosen while looking at earlier answers, by several
// programs, one after the other; the orders are fixed when the ledger is made and delta is split among
// them. Loss distributions are no filter, and what they would give is the price of deciding as one goes.
// "Go on while some order is still in budget", without the split, cannot be expressed: there are mechanisms
// whose delta it doubles.
//
// Costs are those of accountant events, worst cases over all data. A cost that depends on the data is no
// event and no entry: even to stop by it would tell.
//
// # Guarantee
//
// Everything released under reservations of one ledger is together (Epsilon, Delta)-differentially private
// for its unit and relation. In mode Reserved the curves do not depend on any answer, so they add up as
// curves (Mironov 2017) and their sum, [Ledger.Epsilon], is the guarantee. Nor do the pairs of the events,
// so what loss distributions make of all of them bounds the same run, in whatever order it used them:
// claim.go has the argument. In mode Filter each order bounds the runs that end within it (Feldman, Zrnic
// 2021; with interleaved sessions, Haney et al. 2023) and the shares of delta add up; the guarantee is the
// budget, whether it was used up or not, since a total reached by choice bounds nothing (Rogers et al.
// 2016).
//
// A crash may cost budget; it never returns any. Reserve and Commit return when what they wrote is synced,
// so whatever left under them is in the file after any crash. A last line that was cut off belongs to a
// call that never returned. When the file is opened again it is read as reserved: a reservation that names
// its event is charged; one that does not yet is charged when a resumable run repeats it, or else is taken
// to be all of the budget that was left. A seal that was cut off is a seal. If that was a crash of this
// machine and its disk keeps its promises, the fragment may instead be cut off by hand before opening:
// nothing ran under it.
//
// # File
//
// Lines of JSON, of mode 0600, appended and never changed: a header with the Config, the orders, the
// version of this module and a random id; "reserve" with the event and the total it makes by Rényi
// divergences, which is above the budget where it takes loss distributions to fit; "commit" with the
// SHA-256 of an outcome; in mode Reserved one "seal", with the total and, where there was a choice, the
// accountant that proved it; "run", which names a run that shares the ledger; and "torn", for a line that
// was cut off. Each holds its number, in "prev" the SHA-256 of the line before it, newline left out, and in
// "check" the CRC-32C of itself up to there. Outcomes are hashed as they are: a person who can guess one
// can confirm it, so the file is as secret as they are until they are released.
//
// The claim of a sealed ledger is the larger of its seal and of what this version proves. Another version,
// whose loss distributions end elsewhere in their gap or prove more, may have sealed another epsilon: if
// that lies above the floor of the interval that this version finds (see [accountant.Claim]) and within the
// budget, the file is whole, and [Claim] holds both numbers. The floor bounds the cost from below, and so
// is no proof of a seal that is less than the upper end. Below the floor, or more than half a percent and
// 0.002 under what this version proves, a seal is corrupt. Without a seal nothing says what another version
// proved: reservations that fill the budget to the last digit by loss distributions, and exceed it by those
// of this version, are refused. Nothing was released under them.
//
// # Caveats
//
// What an event bounds may hold for one relation only, and noise may come from a seed: a mechanism says so
// in its [Use] when it begins, and is refused where the ledger stands for something else. The unit is a
// word to the ledger. Events are for one input of the mechanism, such as a vote or a row. The caller must
// make sure that one unit has at most one such input; the ledger cannot check it.
//
// A budget is that of one ledger. Nothing accounts across ledgers: two over the same people spend both
// budgets. The caller must open one ledger for all.
//
// An accidental change inside the file is found, with its line, by the chain of hashes; one in the last
// line by its own check. Lines removed at the end, and an older copy, are whole, shorter ledgers, and a
// forger can hash everything again: the chain has no key. Package release keeps [Ledger.Head] for that,
// beside the ledger and in the user's state folder; [Open] and [Verify] compare it. Where somebody may
// write there too, keep the head, which the statement prints, where they cannot. [Sign] signs a head, where
// it matters who vouches for a ledger; [Open] and [Verify] check the signature.
//
// Data, in Config, is compared and not looked at. Sealing sees what reservations are used for, not what
// their author has read: a worst case chosen by looking at the private data themselves is covered by
// nothing.
//
// [Open] blocks while another process holds the file. A file that is removed, renamed or replaced meanwhile
// is found out at the next write, which returns [ErrBroken]. So is one to which somebody else has written:
// on a file system whose locks do not hold between hosts, such as some mounts of NFS or SMB, two may hold
// it at once. Before every append the size is compared, and after it the lines are read back; that narrows
// the gap and does not close it. Use a ledger from one host.
package ledger
