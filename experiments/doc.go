// Package experiments compares ways to learn from private data on one task, at
// the same epsilon and delta, under the same accountant.
//
//	folder, err := experiments.OpenFolder(dir, identity, aggregate.NewKey)
//	result, err := experiments.Compare(ctx, experiments.Config{Task: task, Epsilon: 2, Delta: 1e-5, Key: folder.Key, Dir: folder.Path})
//	err = report.Write(dir, result, "pate compare")
//
// # Guarantee
//
// Every row with an epsilon is (Epsilon, Delta)-differentially private on its
// own, for one unit of the private set added or removed, by the worst-case
// events in Row.Account, which were charged before anything was released.
// Result.EpsilonAll bounds all private rows of one run together.
//
// What makes the comparison fair: the same private and test rows, the same
// features, the same delta, relation and accountant, data-independent epsilons,
// and hyper-parameters that are constants of this package (plan.go says where
// they come from). Poisson sampling is done where it is accounted.
//
// # Caveats
//
// Rows without an epsilon, and Result.Diagnostics, are functions of the private
// data that nobody paid for. With several seeds the private data are used
// several times; the epsilon of a row is that of one run.
package experiments
