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
// Every row with an epsilon is (Epsilon, Delta)-differentially private for adding or removing one unit of the
// private set. This guarantee is for one row and one run. The cost is computed from the worst-case events in
// Row.Account, which were charged before any release. Result.EpsilonAll bounds all private rows of all runs
// together. The number of private units is public and equal for both neighbouring data sets (one of them has
// a record that no teacher uses). It determines the number of teachers and the schedule of DP-SGD. If a unit
// has several rows, DP-SGD trains on one of them. PATE uses all rows, because a unit has one teacher. Methods
// of neighbours use all rows, because a unit has one vote per query. The parameters of these methods are
// computed from public numbers (neighbours.go). They were chosen on the development splits of optdigits and
// letter, after the methods had been evaluated on the literature splits of optdigits, letter and Adult. So
// their results are on rows that had been used before. The number of queries about images was chosen only on
// training images of Fashion-MNIST and MNIST.
//
// If rows have many columns, such as features of images, kernel ridge teachers and methods of neighbours use
// projections on the principal directions of the public pool. Each private row is projected separately, so it
// remains one row.
//
// The comparison is fair. All methods have the same private and test rows, the same delta and relation,
// certified epsilons that do not depend on the data, and constant hyper-parameters (plan.go and package
// recipe describe their origin). DP-SGD is trained by the recipe of `pate dpsgd`. By default PATE and DP-SGD
// each use their best features. The flag --features gives both the same features. Both are accounted by
// privacy loss distributions, because all events are fixed before the first release. Events without a
// dominating pair are accounted by Rényi divergences. If the accounting assumes Poisson sampling, the code
// samples in this way.
//
// # Caveats
//
// Rows without an epsilon, Result.Diagnostics and running times depend on the private data and are not
// charged. Pool and test rows are public and not protected. The costs of two runs in two folders on the same
// records add up, and this package does not add them. Hyper-parameters were tuned on public benchmarks. For
// MNIST they were tuned on rows that are private in the literature split. Epsilon does not cover this tuning.
package experiments
