// Package training makes votes from private labelled rows and public rows.
//
// [Run] derives a schema from the public rows and reads the private rows with it. A keyed hash assigns
// each privacy unit to one teacher. Run trains the teachers in parallel and saves a manifest and the
// votes on the public rows. If a stopped job is repeated, it resumes and ends with the same votes.
//
// # Guarantee
//
// If one unit in the private file is added or removed, the votes of at most one teacher change. The same
// holds if one unit is replaced under the same unit id. If the id of the replaced unit changes too, the
// votes of two teachers may change. Everything else that Run returns, prints or writes depends only on
// public rows, the job and constants. Examples are the features, the classes, the number of teachers, the
// learner and the manifest. The name of a part file is an exception: it holds a keyed hash of the file.
// Other hashes of the private rows and of the votes stay in the secrets folder and part files. So two
// manifests do not reveal whether the rows have changed.
//
// # Caveats
//
// The votes, the secrets folder and all errors about a private file are as secret as the private rows.
// The training time depends on private rows. Learners of golearn break ties at random. So an interrupted
// job with such a learner may end with different votes.
//
// # Use
//
//	result, err := training.Run(ctx, training.Job{
//		Private: dataset.Source{Path: "patients.csv"}, Public: dataset.Source{Path: "public.csv"},
//		Reading: dataset.Reading{CSV: dataset.CSVOptions{Label: "outcome", Unit: "patient"}, Rule: rule},
//		Out:     "votes.npy",
//	})
package training
