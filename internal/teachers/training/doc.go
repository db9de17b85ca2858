// Package training makes votes from two data sets: private labelled rows and public rows.
//
// [Run] reads the public rows and makes a schema, reads the private rows with this schema, gives every
// privacy unit to one teacher by a keyed hash, trains the teachers in parallel, and saves their votes on the
// public rows and a manifest. It can be stopped at any time: a repeated job resumes and ends with the same
// votes.
//
// # Guarantee
//
// Adding, removing or replacing one unit in the private file changes the votes of one teacher, always the
// same teacher. It changes nothing else that Run returns, prints or writes beside the votes: features,
// classes, the number of teachers, the learner and the manifest depend only on public rows, the job and
// constants. Hashes that identify the private rows and the votes stay in the secrets folder: two manifests do
// not show whether the rows changed in between.
//
// # Caveats
//
// The votes, the secrets folder beside them and every error about a private file are as secret as the private
// rows. The training time depends on private rows. A learner of golearn breaks ties at random, so the votes
// of teachers that were unfinished when a run was stopped may differ.
//
// # Use
//
//	result, err := training.Run(ctx, training.Job{
//		Private: dataset.Source{Path: "patients.csv"}, Public: dataset.Source{Path: "public.csv"},
//		Reading: dataset.Reading{CSV: dataset.CSVOptions{Label: "outcome", Unit: "patient"}, Rule: rule},
//		Out:     "votes.npy",
//	})
package training
