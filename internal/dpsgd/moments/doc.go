// Package moments releases private means and second moments of rows. From them it computes centred and
// whitened features at no further cost.
//
// Each release is one [dpsgd.Sum]. A record contributes its row, or the outer products of its positions.
// The contribution is clipped to a norm, the sum gets Gaussian noise, and the result is divided by a public
// number of records. A release needs a reservation for [Config.Event] and is charged before it runs.
//
//	second, err := moments.EstimateSecondMoment(ctx, x, 81, cfg, reservation, key)
//	whitening, err := second.Whitening(0.003)
//	err = whitening.Apply(x, workers) // free, and again for x of the test
//
// # Guarantee
//
// A release is the Gaussian mechanism with the noise multiplier of its Config, for the relation "add or
// remove one record". Config.Records is the same for both neighbours. Anything computed from a release is
// post-processing. A row that was centred or whitened is a function of that row and of releases, so the
// next mechanism sees neighbouring data as before.
//
// # Caveats
//
// [Mean.Subtract] and [Whitening.Apply] leave private rows private, because they add no noise to the rows.
// Clip norms, noise and ridge that were chosen by looking at private rows are not free.
package moments
