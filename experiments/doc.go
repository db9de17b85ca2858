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
// Every row with an epsilon is, by itself and for one run, (Epsilon, Delta)-differentially private for adding
// or removing one unit of the private set. The cost is from the worst-case events in Row.Account, which were
// charged before anything was released. Result.EpsilonAll bounds all private rows of all runs together. The
// number of private units is public: it determines the number of teachers and the schedule of DP-SGD, and is
// the same for both neighbouring data sets (one has a record that no teacher uses). If a unit has several
// rows, DP-SGD trains on one of them. PATE uses all, because a unit has one teacher, and so do the methods of
// neighbours, where a unit has one vote per question. The parameters of these methods are computed from
// public numbers too (neighbours.go). They were chosen on the development splits of optdigits and letter,
// after the methods had been evaluated on the literature splits of optdigits, letter and Adult: their results
// are not for unused rows. The number of questions about images was chosen on training images of
// Fashion-MNIST and MNIST alone.
//
// If rows have many columns, such as features of images, kernel ridge teachers and methods of neighbours use
// their projections on the principal directions of the pool, which is public. Each private row is projected
// separately, so it remains one row.
//
// The comparison is fair: all methods have the same private and test rows, the same delta and relation,
// certified epsilons that do not depend on the data, and constant hyper-parameters (plan.go and package
// recipe describe their origin). DP-SGD is trained by the recipe of `pate dpsgd`. By default PATE and DP-SGD
// each use their best features; --features gives both the same. Both are accounted by privacy loss
// distributions, as all events are fixed before the first release, and by Rényi divergences if an event has
// no dominating pair. If the accounting assumes Poisson sampling, the code samples that way.
//
// # Caveats
//
// Rows without an epsilon, Result.Diagnostics and running times are unpaid functions of the private data;
// pool and test rows are public and unprotected. Budgets are per folder: the costs of two runs in two folders
// on the same records add up, and this package does not add them. Hyper-parameters were tuned on public
// benchmarks, for MNIST on rows that are private in the literature split; for data used in this tuning,
// epsilon does not cover the tuning.
package experiments
