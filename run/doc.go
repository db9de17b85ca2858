// Package run carries out what leaves once: planned, charged, drawn, committed, released. It is the only
// way in which anything here is released, so that one reading of it covers all.
//
// A [Run] has a ledger, a plan of what it costs and stages, each of which is a file that leaves. Its
// identity is all that it is a function of. Called again with the same identity it goes on where it was
// interrupted, at no further cost and to the last bit, or checks that the files are what was released;
// another identity is refused by [ErrOtherRun], or is another run.
//
//	r := run.Run{
//		File: run.File{Path: "run.jsonl", New: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5}},
//		Kind: "mean", Units: run.Units{N: 1000, Noun: "records"},
//		Plan: func(ctx context.Context, before *run.Before) (run.Plan, error) {
//			var s settings
//			same, err := before.Find(hash, &s) // a run that was recorded has its settings
//			if same == nil {
//				s.Noise, err = before.LeastNoise(ctx, ...) // what fits what is left
//			}
//			return run.Plan{Events: [][]accountant.Event{{s.event()}}, Settings: s, Inputs: hash, Same: same}, err
//		},
//		Stages: []run.Stage{{Out: "mean.txt", Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) error { ... }}},
//	}
//	err := r.Do(ctx, nil)
//
// # Places
//
// A ledger beside an output is shared: several runs charge it, each under the name that its identity has as
// JSON, and the key of an unfinished run lies beside it as LEDGER.TAG.key. Private inputs stand in an
// identity by their hash under LEDGER.id.
//
// A [Folder] is that of one run: its private half has the key, the configuration, and ledgers that are made
// for this run alone ([ledger.Config].Run, by [ID]) or none at all, where it charges a shared one. Such a
// run is handed the folder's key as Run.Key; the folder destroys it when the run is finished.
//
// Several stages are charged together, in one batch, before the first of them draws. Between two of them
// the caller may do what costs nothing, with [Run.Open] and [Session.Next].
//
// # Order
//
//	the key is on disk           or a repeated run would draw other noise
//	the worst case is reserved   or what is drawn would not be paid for
//	the outcome is drawn         into a file without its name
//	its hash is committed        or it could be drawn otherwise after a crash
//	the head is kept             or an older copy of the ledger would be believed
//	the file gets its name
//	the key is destroyed         or the noise could be taken off
//
// Repeating a release that was interrupted between any two of these gives the same outcome, bit for bit,
// and is charged nothing more. Repeating one that is complete draws nothing: it checks that the file is
// what was committed.
//
// # What is committed
//
// The SHA-256 of the file that leaves, byte for byte: what sha256sum prints. So the ledger alone shows
// whether a file is one that was released, and by which entry. If several entries paid for one file, as for
// the statistics and the steps of one model, each of them has that hash.
//
// # Files beside a ledger
//
// LEDGER.head says how far the ledger had come when something last left; LEDGER.id is a secret under which
// inputs are recognised; LEDGER.*.key are keys of releases that are not complete. A ledger that does not
// hold the line of its head any more is refused; so is one under which something was committed and whose
// head or id is gone, and one that is gone or empty while one of these files is there.
//
// A ledger has a random id in its first line. Under it the head is kept a second time, in the user's state
// folder ([StateDir]), so that a ledger that is put back together with all files beside it is found as
// well, by this user on this machine. Where that folder cannot be written there is a warning, and there is
// one, once, where something left under a ledger of which that folder has no head: it comes from another
// machine, or nobody can tell whether it is an older copy.
//
// A ledger that was made for one run ([ledger.Config].Run) lies in the folder of that run, beside the key
// from which all of its noise comes until the run is complete. Put back, it repeats the same outcomes; it
// has a head, and neither a LEDGER.id nor a second head.
//
// # Caveats
//
// No file can tell what other files hold. A ledger, all files beside it and the user's state folder put
// back together, or the first two taken to another machine and used on both, release twice what was charged
// once. So does a second ledger for the same people. Who must be sure keeps the head that the commands
// print where it cannot be changed, and gives it to `pate ledger verify --head`.
//
// Destroying a key overwrites and removes its file. What a disk, a snapshot or a backup remembers is beyond
// that.
package run
