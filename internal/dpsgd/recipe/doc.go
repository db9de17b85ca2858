// Package recipe trains differentially private models by recipes that are fixed before the data are read. It
// reports the accuracy and the privacy cost of each model.
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
// Each [Row] with an epsilon describes an (Epsilon, Delta)-differentially private model. Neighbouring data
// sets differ by one added or removed unit. Training and statistics are charged in one composition, which is
// reserved in a ledger before a private row is read. Training uses at most Config.RowsPerUnit rows of a unit.
//
// Epsilon is a certified upper bound from privacy loss distributions at 0.999 Delta. A thousandth of Delta is
// reserved for the difference between discrete and continuous noise. If this thousandth is too small, Epsilon
// is a bound from Rényi divergences at Delta. Result.EpsilonAll bounds the cost of all rows and seeds
// together.
//
// The total of a run's own ledger comes from Rényi divergences. Usually, this total exceeds Row.Epsilon by up
// to about a tenth. The budget of a shared ledger bounds the cost of all its releases together.
//
// # Caveats
//
// Test rows must be public, because models are evaluated on them without protection. The number of private
// rows must also be public. Recipes were chosen on public benchmarks (see recipe.go). For these benchmarks,
// Epsilon does not include the cost of this choice.
package recipe
