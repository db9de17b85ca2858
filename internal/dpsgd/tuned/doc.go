// Package tuned trains one model, chooses its hyper-parameters on the data, and charges for the choice. It
// uses package tune to run recipes of package recipe.
//
//	cfg := tuned.Config{Task: task, Base: base, Settings: settings, Law: law, Epsilon: 2, Delta: 1e-5, ...}
//	quote, err := cfg.Quote(ctx)        // the cost; nothing is spent
//	result, err := tuned.Run(ctx, cfg)  // the model is in Dir/public/models
//
// # Guarantee
//
// Model, setting and score together are (Epsilon, Delta)-differentially private. Neighbouring data sets
// differ by one added or removed private unit. The search is one event, reserved in a ledger before the first
// run. An interrupted search resumes with the same result and is not charged again. Package tune states the
// theorem.
//
// A run must cost the same with every setting. Settings may differ in rates, clip norms, models and
// optimizers. Steps, batches and statistics come from the base recipe.
//
// # The score
//
// Settings are scored on the public rows of Task.Pool. The reported accuracy is measured on test rows,
// because the best of several scores is too optimistic. If public rows are few or unlike the private rows,
// set [Config].Private to score settings on part of the private units. The score then is the noisy number of
// these units that a model predicts correctly (discrete Gaussian noise). Every run is charged for its score.
//
// # Caveats
//
// Package recipe states the requirements on public data. The base recipe and the settings must not depend on
// private rows.
package tuned
