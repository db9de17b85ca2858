// Package tuned trains one model whose hyper-parameters are chosen on the data, and charges the choice:
// package tune runs recipes of package recipe.
//
//	cfg := tuned.Config{Task: task, Base: base, Settings: settings, Law: law, Epsilon: 2, Delta: 1e-5, ...}
//	quote, err := cfg.Quote(ctx)        // the cost; nothing is spent
//	result, err := tuned.Run(ctx, cfg)  // the model is in Dir/public/models
//
// # Guarantee
//
// The model, its setting and its score are together (Epsilon, Delta)-differentially private for one unit of
// the private set added or removed. One event, the search, is reserved in a ledger before the first run; an
// interrupted search is resumed to the same answer and pays nothing more. See package tune for the theorem,
// and package recipe for one run.
//
// All settings must cost the same in one run. They may differ in rates, clip norms, models and optimisers;
// steps, batches and statistics are the base's.
//
// # The score
//
// Rows of the pool choose, which are public; the test rows are left for the reported accuracy, since the best
// of several scores flatters. Where public rows are few, or unlike the private ones, a part of the private
// units can choose ([Private]): the number of their right answers gets discrete Gaussian noise, which is
// charged as part of every run. There is no score on private rows without noise.
//
// # Caveats
//
// The public parts of a task are public here: see package recipe. The base recipe and the list of settings
// must not come from a look at the private rows.
package tuned
