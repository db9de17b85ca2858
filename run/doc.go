// Package run plans a release, charges its cost to a ledger, draws the outcome and writes the file.
//
// A [Run] has a ledger, a plan with a privacy cost, and stages. Each stage releases one file. The identity of
// a run is everything that the outcome depends on. A run with an equal identity resumes an interrupted run,
// without a new charge and with the same bytes. If the earlier run is complete, only its files are checked. A
// run with a different identity is a new run, or fails with [ErrOtherRun].
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
//				s.Noise, err = before.LeastNoise(ctx, ...) // fits the rest of the budget
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
// Several runs may share a ledger, the file LEDGER. The ledger records the identity of each run as JSON. The
// private inputs appear only as a hash, keyed by the secret in LEDGER.id. The key of an unfinished run is in
// LEDGER.TAG.key, where TAG is a hash of the identity.
//
// A [Folder] belongs to one run. The subfolder "private" has the key, the configuration and any ledgers that
// only this run may charge. For these ledgers, [ledger.Config].Run is the run's [ID]. Set Run.Key to the
// folder's key. [Folder.Finish] destroys the key.
//
// All stages are charged in one batch before the first stage draws. With [Run.Open] and [Session.Next] the
// caller may do work without privacy cost between stages.
//
// # Order
//
// The left column lists the steps of a release. The text after "or" is what could happen without the step.
//
//	the key is on disk           or a repeated run would draw other noise
//	the worst case is reserved   or the draw would not be charged
//	the outcome is drawn into a file without its final name
//	its hash is committed        or another outcome could be drawn after a crash
//	the head is recorded         or an older copy of the ledger would be accepted
//	the file gets its final name
//	the key is destroyed         or the noise could be removed
//
// Repeating a complete release draws nothing, and compares the SHA-256 of the file with the committed hashes.
//
// # Files beside a ledger
//
// LEDGER.id is a secret that identifies inputs. LEDGER.head is the head of the ledger: the number and hash of
// the last line at the last release. Opening a ledger fails if the ledger lacks this line. Opening fails if
// the ledger has a commit, but LEDGER.head or LEDGER.id is missing. Opening fails if the ledger is missing or
// empty, but LEDGER.head, LEDGER.id or a LEDGER.TAG.key exists.
//
// The first line of a ledger contains a random id. A second copy of the head is stored under this id in the
// user's state folder (pate/ledgers in $XDG_STATE_HOME or in ~/.local/state). The copy reveals that an old
// ledger was restored with all files next to it. This works only for this user and machine. A ledger with a
// commit, but without a head in the state folder, gives a warning. Reasons are another machine, another state
// folder, or an older copy. A state folder that cannot be written also gives a warning.
//
// A ledger for one run is in the folder of this run. Until the run is complete, the folder also has the key
// of all noise. So a run on a restored copy of the ledger repeats the same outcomes. A ledger for one run has
// a head, but no LEDGER.id and no second copy of the head.
//
// # Caveats
//
// Files cannot prevent two releases for one charge if a ledger, all files next to it and the user's state
// folder are restored together. The same holds for a ledger on two machines, and for two ledgers for the same
// people. For certainty, store the printed head where nobody can change it, and pass it to `pate verify
// --head`.
//
// Destroying a key overwrites and removes its file. Copies on a disk, in a snapshot or in a backup remain.
package run
