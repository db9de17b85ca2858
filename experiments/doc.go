// Package experiments compares ways to learn from private data on one task, at the same epsilon and delta.
//
//	folder, err := run.OpenFolder(ctx, dir, identity, rng.NewKey)
//	result, err := experiments.Compare(ctx, experiments.Config{
//		Task: task, Epsilons: []float64{2}, Delta: 1e-5, Key: folder.Key, Dir: folder.Path,
//	})
//	err = report.Write(dir, result, "pate compare")
//
// # Guarantee
//
// Every Row with an Epsilon is (Epsilon, Delta)-differentially private for adding or removing one unit of the
// private set. This guarantee is for one row and one run. The cost is computed from the worst-case events in
// Row.Account, which were charged before any release. Result.EpsilonAll bounds the cost of all such rows and
// all runs together. The number of private units is assumed to be public, and equal for neighbouring data
// sets. This number determines the number of teachers and the schedule of DP-SGD. If a unit has several rows,
// DP-SGD trains on one of these rows. PATE uses all rows, because a unit has one teacher. The pknn methods
// (private k-NN) use all rows, because a unit has one vote per query.
//
// If the private rows are in silos, each unit is in one silo. The number of units of each silo is also
// assumed to be public. Each teacher is trained on rows of one silo. Method pknn/one-silo uses each silo by
// itself. Method pknn/silos counts the votes of each silo separately, and adds the counts.
//
// If rows have many columns, kernel ridge teachers and the pknn methods project rows on principal directions
// of the public pool. Each private row is projected separately, so one unit still affects only its own rows.
//
// All methods have the same private rows, test rows, delta and neighbouring relation. Epsilons do not depend
// on the data. Hyper-parameters are constants (see plan.go and package recipe). DP-SGD is trained by the
// recipe of `pate dpsgd`. By default PATE and DP-SGD each use their best features. The flag --features gives
// PATE and DP-SGD the same features. The accountant of all methods uses privacy loss distributions, because
// all events are fixed before the first release. Events without a dominating pair use Rényi divergences.
//
// # Caveats
//
// Rows without an epsilon, Result.Diagnostics and running times depend on the private data and are not
// charged. Pool and test rows are public and not protected. If two runs in two folders use the same records,
// their costs add up, but this package does not add them. Hyper-parameters were tuned on development splits
// of public benchmarks (dataset.Development). Every row of a development split is a private row in the split
// for reported results (dataset.Literature). Epsilon does not cover this tuning. The parameters of pknn were
// chosen after an evaluation on the literature splits of optdigits, letter and Adult.
package experiments
