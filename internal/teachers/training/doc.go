// Package training makes votes from private labelled rows and public rows.
//
// [Run] derives a schema from the public rows and reads the private rows with this schema. It assigns each
// privacy unit to one teacher by a keyed hash. It trains the teachers in parallel and saves a manifest and
// the votes on the public rows. A stopped job can be repeated: it resumes and ends with the same votes.
//
// # Guarantee
//
// Adding, removing or replacing one unit in the private file changes the votes of one teacher only.
// Everything else that Run returns, prints or writes depends only on public rows, the job and constants. This
// covers features, classes, the number of teachers, the learner and the manifest. Hashes of private rows and
// votes stay in the secrets folder. So two manifests do not reveal whether the rows have changed.
//
// # Caveats
//
// The votes, the secrets folder and all errors about a private file are as secret as the private rows. The
// training time depends on private rows. Learners of golearn break ties at random. If a job is interrupted,
// golearn teachers that are trained later may vote differently.
//
// # Use
//
//	result, err := training.Run(ctx, training.Job{
//		Private: dataset.Source{Path: "patients.csv"}, Public: dataset.Source{Path: "public.csv"},
//		Reading: dataset.Reading{CSV: dataset.CSVOptions{Label: "outcome", Unit: "patient"}, Rule: rule},
//		Out:     "votes.npy",
//	})
package training
