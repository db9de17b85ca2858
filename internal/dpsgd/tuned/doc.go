// Package tuned trains one model whose hyper-parameters are chosen on the data, and charges for the choice.
// Package tune runs recipes of package recipe.
//
//	cfg := tuned.Config{Task: task, Base: base, Settings: settings, Law: law, Epsilon: 2, Delta: 1e-5, ...}
//	quote, err := cfg.Quote(ctx)        // the cost; nothing is spent
//	result, err := tuned.Run(ctx, cfg)  // the model is in Dir/public/models
//
// # Guarantee
//
// The model, its setting and its score together are (Epsilon, Delta)-differentially private for one unit of
// the private set added or removed. One event, the search, is reserved in a ledger before the first run. An
// interrupted search resumes to the same result and is not charged again. See package tune for the theorem,
// and package recipe for one run.
//
// All settings must have the same cost in one run. They may differ in rates, clip norms, models and
// optimisers; steps, batches and statistics come from the base recipe.
//
// # The score
//
// Rows of the pool, which are public, choose the setting. The test rows are kept for the reported accuracy,
// since the best of several scores is too optimistic. If public rows are few, or unlike the private rows, a
// part of the private units can choose ([Private]): the number of their correct predictions gets discrete
// Gaussian noise, which is charged as part of every run. There is no score on private rows without noise.
//
// # Caveats
//
// The public parts of a task are public here too: see package recipe. The base recipe and the list of
// settings must not be chosen by looking at the private rows.
package tuned
