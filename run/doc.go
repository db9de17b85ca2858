// Package run plans, charges, draws, commits and releases files, each once. Every release of this module uses
// it.
//
// A [Run] has a ledger, a plan of its cost, and stages, each of which releases one file. Its identity is
// everything that its outcome depends on. A run with the same identity resumes where it was interrupted, at
// no further cost and to the last bit, or checks that the files are the released ones. Another identity is
// another run, or is refused by [ErrOtherRun].
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
// Several runs may charge a ledger beside an output. Each is recorded under its identity as JSON, and the key
// of an unfinished run is in LEDGER.TAG.key. An identity has only a hash of its private inputs, made with the
// secret in LEDGER.id.
//
// A [Folder] belongs to one run. Its private half has the key and the configuration, and ledgers made for
// this run alone ([ledger.Config].Run, by [ID]), unless the run charges a shared ledger. Such a run gets the
// folder's key as Run.Key, and the folder destroys the key when the run is finished.
//
// All stages are charged in one batch before the first one draws. Between two stages the caller may do work
// that costs nothing, with [Run.Open] and [Session.Next].
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
// Repeating a release that was interrupted between any two of these steps gives the same outcome, bit for
// bit, and charges nothing more. Repeating a complete release draws nothing: it compares the file with the
// SHA-256 that is committed under every entry that paid for it.
//
// # Files beside a ledger
//
// LEDGER.head is the head of the ledger at its last release; LEDGER.id is a secret by which inputs are
// recognised; LEDGER.*.key are keys of unfinished runs. Three ledgers are refused: one that lacks the line of
// its head, one with a commit but without its head or id, and one that is missing or empty although one of
// these files exists.
//
// A ledger has a random id in its first line. The head is kept under that id a second time, in the user's
// state folder (pate/ledgers in $XDG_STATE_HOME or in ~/.local/state). So a ledger that is restored together
// with all files beside it is detected too, for this user on this machine. A warning is given if that folder
// cannot be written, and once if it has no head for a ledger with a commit: such a ledger comes from another
// machine, or may be an older copy.
//
// A ledger made for one run ([ledger.Config].Run) lies in the folder of that run, beside the key of all its
// noise until the run is complete. If it is restored, it repeats the same outcomes. It has a head, but no
// LEDGER.id and no second head.
//
// # Caveats
//
// No file can vouch for other files. A ledger restored with all files beside it and the user's state folder,
// or taken with the files beside it to another machine and used on both, releases twice for one charge. So
// does a second ledger for the same people. To be sure, keep the head that the commands print where it cannot
// be changed, and give it to `pate ledger verify --head`.
//
// Destroying a key overwrites and removes its file, not its copies in a disk, a snapshot or a backup.
package run
