// Package run plans, charges, draws, commits and releases files. Every release of this module uses it.
//
// A [Run] has a ledger, a plan with its privacy cost, and stages. Each stage releases one file. The identity
// of a run is everything that the outcome depends on. A run with an equal identity resumes after an
// interruption, without a new charge and with the same bytes. If the run is complete, it only checks the
// files. A run with a different identity is a new run, or fails with [ErrOtherRun].
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
// Several runs may charge a ledger next to an output. The ledger records the identity of each run as JSON,
// with only a hash of the private inputs under the secret in LEDGER.id. The key of an unfinished run is in
// LEDGER.TAG.key.
//
// A [Folder] belongs to one run. The subfolder private has the key, the configuration and any ledgers for
// this run alone ([ledger.Config].Run, from [ID]). The run gets the folder's key as Run.Key. The folder
// destroys the key after the run is finished.
//
// All stages are charged in one batch before the first stage draws. Between two stages the caller may do work
// without privacy cost, with [Run.Open] and [Session.Next].
//
// # Order
//
//	the key is on disk           or a repeated run would draw other noise
//	the worst case is reserved   or the draw would not be charged
//	the outcome is drawn         into a file without its name
//	its hash is committed        or another outcome could be drawn after a crash
//	the head is recorded         or an older copy of the ledger would be accepted
//	the file gets its name
//	the key is destroyed         or the noise could be removed
//
// A release that was interrupted between two steps can be repeated. It then gives the same bytes without a
// new charge. A repeated complete release draws nothing. It compares the SHA-256 of the file with the hash in
// every entry that was charged for it.
//
// # Files beside a ledger
//
// LEDGER.head is the head of the ledger at its last release. LEDGER.id is a secret that identifies inputs.
// LEDGER.*.key are keys of unfinished runs. Three ledgers are refused: a ledger without the line of its head,
// a ledger with a commit but without its head or id, and a missing or empty ledger next to such a file.
//
// The first line of a ledger contains a random id. A second copy of the head is stored under that id in the
// user's state folder (pate/ledgers in $XDG_STATE_HOME or in ~/.local/state). This copy detects an old ledger
// that was restored with all files next to it, for this user on this machine. A warning is given if that
// folder cannot be written. A ledger with a commit but no head in that folder gives one warning: it comes
// from another machine, or it may be an older copy.
//
// A ledger for one run ([ledger.Config].Run) is in the folder of that run. Until the run is complete, the
// folder also has the key of all noise. A restored copy therefore repeats the same outcomes. Such a ledger
// has a head, but no LEDGER.id and no second copy of the head.
//
// # Caveats
//
// Files cannot protect themselves. Two restored copies release twice for one charge: a ledger restored with
// all files next to it and the user's state folder, or a ledger used on two machines with the files next to
// it. A second ledger for the same people has the same effect. To be sure, store the head that the commands
// print where it cannot change, and give it to `pate ledger verify --head`.
//
// Destroying a key overwrites and removes its file, but not its copies on a disk, in a snapshot or backup.
package run
