// Package run plans, charges, draws, commits and releases files, each once. Every release of this module
// goes through it.
//
// A [Run] has a ledger, a plan of its cost and stages, each of which is a file that leaves. Its identity is
// everything it is a function of. Called again with the same identity it resumes where it was interrupted,
// at no further cost and to the last bit, or checks that the files are the released ones; another identity
// is refused by [ErrOtherRun], or is another run.
//
//	r := run.Run{
//		File: run.File{Path: "run.jsonl", New: ledger.Config{
//			Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5,
//		}},
//		Kind: "mean", Units: run.Units{N: 1000, Noun: "records"},
//		Plan: func(ctx context.Context, before *run.Before) (run.Plan, error) {
//			var s settings
//			same, err := before.Find(hash, &s) // a recorded run has its settings
//			if same == nil {
//				s.Noise, err = before.LeastNoise(ctx, ...) // that fits the rest of the budget
//			}
//			events := [][]accountant.Event{{s.event()}}
//			return run.Plan{Events: events, Settings: s, Inputs: hash, Same: same}, err
//		},
//		Stages: []run.Stage{{Out: "mean.txt", Draw: draw}},
//	}
//	err := r.Do(ctx, nil)
//
// # Places
//
// A ledger beside an output is shared: several runs charge it, each under its identity as JSON, and the key
// of an unfinished run lies beside it as LEDGER.TAG.key. Private inputs stand in an identity by their hash
// under LEDGER.id.
//
// A [Folder] belongs to one run: its private half has the key, the configuration, and ledgers made for this
// run alone ([ledger.Config].Run, by [ID]), or none, where it charges a shared one. Such a run gets the
// folder's key as Run.Key; the folder destroys it when the run is finished.
//
// All stages are charged in one batch before the first one draws. Between two stages the caller may do free
// work, with [Run.Open] and [Session.Next].
//
// # Order
//
//	the key is on disk           or a repeated run would draw other noise
//	the worst case is reserved   or the draw would not be paid for
//	the outcome is drawn         into a file without its name
//	its hash is committed        or it could be drawn otherwise after a crash
//	the head is kept             or an older copy of the ledger would be believed
//	the file gets its name
//	the key is destroyed         or the noise could be taken off
//
// Repeating a release that was interrupted between any two of these gives the same outcome, bit for bit,
// and is charged nothing more. Repeating a complete one draws nothing: it compares the file with the
// commit, which is its SHA-256 under every entry that paid for it.
//
// # Files beside a ledger
//
// LEDGER.head is the head of the ledger at its last release; LEDGER.id is a secret under which inputs are
// recognised; LEDGER.*.key are keys of unfinished runs. A ledger that lacks the line of its head is
// refused; so is one with a commit whose head or id is gone, and one that is gone or empty while one of
// these files exists.
//
// A ledger has a random id in its first line. Under it the head is kept a second time, in the user's state
// folder (pate/ledgers in $XDG_STATE_HOME or in ~/.local/state), so that a ledger that is put back together
// with all files beside it is found as well, by this user on this machine. There is a warning where that
// folder cannot be written, and one, once, where it has no head of a ledger with a commit: that comes from
// another machine, or may be an older copy.
//
// A ledger made for one run ([ledger.Config].Run) lies in the folder of that run, beside the key of all its
// noise until the run is complete. Put back, it repeats the same outcomes; it has a head, and neither a
// LEDGER.id nor a second head.
//
// # Caveats
//
// No file can vouch for other files. A ledger, all files beside it and the user's state folder put back
// together, or the first two taken to another machine and used on both, release twice under a single
// charge. So does a second ledger for the same people. Who must be sure keeps the head that the commands
// print where it cannot be changed, and gives it to `pate ledger verify --head`.
//
// Destroying a key overwrites and removes its file. Copies in a disk, a snapshot or a backup are beyond that.
package run
