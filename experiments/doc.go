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
// Every row with an epsilon is (Epsilon, Delta)-differentially private on its own and for one run, for one
// unit of the private set added or removed, by the worst-case events in Row.Account, which were charged
// before anything was released. Result.EpsilonAll bounds all private rows of all runs together. The number
// of private units is public: it fixes the number of teachers and the schedule of DP-SGD, and is the same
// for both neighbours (one has a record that no teacher sees). Where a unit has several rows, DP-SGD trains
// on one; PATE uses all, because a unit has one teacher, and so do votes of neighbours, where a unit votes
// once at a question. The parameters of neighbours are rules of public numbers too (neighbours.go). They
// were chosen on the development splits of optdigits and letter, after these methods had been looked at on
// the literature splits of optdigits, letter and Adult: their results there are not on untouched rows. The
// number of questions about images was chosen on training images of Fashion-MNIST and MNIST alone.
//
// Where rows have many columns, as features of images have, kernel ridge teachers and votes of neighbours
// see them in the principal directions of the pool, which is public: a private row is projected by itself,
// so that it stays one row.
//
// The comparison is fair by the same private and test rows, the same delta and relation, certified epsilons
// that do not depend on the data, and hyper-parameters that are constants (plan.go and package recipe have
// their origin). DP-SGD is trained by the recipe of `pate dpsgd`. Each side gets the features that serve it
// best; --features gives both the same. Votes and DP-SGD are accounted by privacy loss distributions, as
// all of either is fixed before its first release, and by Rényi divergences where those have no pair. Where
// the accounting assumes Poisson sampling, the code really samples that way.
//
// # Caveats
//
// Rows without an epsilon, Result.Diagnostics and running times are unpaid functions of the private data;
// pool and test rows are public and unprotected. Budgets are per folder: two runs in two folders on the
// same records spend twice, and nothing here adds that up. Hyper-parameters were tuned on public
// benchmarks, for MNIST on rows that are private in the literature split; on data that the constants have
// seen, epsilon does not cover the tuning.
package experiments
