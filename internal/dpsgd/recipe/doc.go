// Package recipe trains differentially private models by recipes that are fixed before the data are read, and
// reports the accuracy and the cost of each model.
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
// set added or removed. The training and everything fitted on private rows before it are charged in one
// composition, which is reserved in a ledger before a private row is read. Epsilon is the certified upper end
// of a privacy loss distribution at 0.999 Delta, which can be recomputed from the events in Row.Account; a
// thousandth of Delta is reserved for the difference between discrete and continuous noise. Result.EpsilonAll
// bounds all rows and seeds together. At most Config.RowsPerUnit rows of a unit are trained on.
//
// The ledger of a run counts in Rényi divergences, which compose but are slightly looser: the ledger's own
// total is some percent, for few large steps a tenth, above Row.Epsilon. On a ledger that is shared with
// other runs, the noise is chosen for the remaining budget, and the guarantee is the ledger's whole budget.
//
// # Caveats
//
// Test rows are public: models are evaluated on them without protection. The number of private rows is taken
// to be public too. Recipes were chosen on public benchmarks (see recipe.go); for these data epsilon does not
// cover that choice.
package recipe
