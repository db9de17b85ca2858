// Package recipe trains differentially private models by recipes that are fixed before the data are seen, and
// reports the accuracy and the cost of each.
//
//	r := recipe.Default(recipe.ShapeOf(task), "", "", 2)
//	result, err := recipe.Run(ctx, recipe.Config{
//		Task: task, Delta: 1e-5, Key: key, Dir: dir,
//		Plans: []recipe.Plan{{Recipe: r, Epsilon: 2}},
//	})
//	m, err := recipe.OpenModel(filepath.Join(dir, "public", "models", "epsilon-2-run-0.model"))
//	classes, err := m.Predict(ctx, further) // rows of the same kind
//
// # Guarantee
//
// Every row with an epsilon is (Epsilon, Delta)-differentially private by itself, for one unit of the private
// set added or removed: the training and everything fitted on private rows before it are charged in one
// composition, and the whole is reserved in a ledger before a private row is looked at. Epsilon is the
// certified upper end of a privacy loss distribution at 0.999 Delta, which can be recomputed from the events
// in Row.Account; a thousandth of Delta is kept for the difference between discrete and continuous noise.
// Result.EpsilonAll bounds all rows and seeds together. Of a unit with several rows one is trained on.
//
// The ledger of a run counts in Rényi divergences, which compose but are a little looser: its own total is
// some percent, for few large steps a tenth, above Row.Epsilon. On a ledger that is shared with other runs,
// noise follows from the rest of the ledger, whose promise is its whole budget.
//
// # Caveats
//
// Test rows are public: they score, and nothing protects them. The number of private rows is taken to be
// public too. Recipes were chosen on public benchmarks (see defaults.go); epsilon does not cover that choice
// for data it has seen.
package recipe
