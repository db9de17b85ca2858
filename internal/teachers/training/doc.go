// Package training makes votes from two data sets: private labelled rows and public ones.
//
// [Run] reads the public rows and makes a schema, reads the private rows by that schema, gives
// every unit of privacy to one teacher by a keyed hash, trains the teachers in parallel, and keeps their
// votes on the public rows and a manifest. It can be stopped at any time: the same job goes on and ends
// with the same votes.
//
// # Guarantee
//
// One unit more, one fewer or another one in the private file changes the votes of one teacher, always the
// same one, and nothing else that Run returns, prints or writes beside the votes: features, classes, the
// number of teachers, the learner and the manifest come from public rows, from the job and from constants.
// What recognises the private rows and the votes stays in the folder of secrets: two manifests do not show
// whether the rows changed between them.
//
// # Caveats
//
// The votes, the folder of secrets beside them and every error about a private file are as secret as the
// private rows. How long a training takes depends on private rows. A learner of golearn decides ties by
// chance, so that votes of teachers that were not finished when a run was stopped may differ.
//
// # Use
//
//	result, err := training.Run(ctx, training.Job{
//		Private: dataset.Source{Path: "patients.csv"}, Public: dataset.Source{Path: "public.csv"},
//		Reading: dataset.Reading{CSV: dataset.CSVOptions{Label: "outcome", Unit: "patient"}, Rule: rule},
//		Out:     "votes.npy",
//	})
package training
