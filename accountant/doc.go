// Package accountant answers what private computations cost together.
//
// A computation is described by an [Event], plain data that says which
// mechanism ran with which parameters. An [Accountant] composes events
// adaptively and bounds the (epsilon, delta) of the whole. [RDP] holds a Rényi
// divergence curve plus a failure probability; the two add up under
// composition, so noisy argmax, sampled gradients and stability releases share
// one account:
//
//	account, err := accountant.NewRDP(accountant.Config{Relation: accountant.AddRemove})
//	err = account.Compose(accountant.PoissonSampled{Probability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 4}}, 10000)
//	bound, err := account.Epsilon(1e-5) // bound.Upper is 1.0354
//
// # Guarantee
//
// If the events are what was run, in any adaptively chosen interleaving but
// with numbers and parameters fixed in advance, then on neighbouring data sets
// in the sense of the [Relation] the outputs are (Upper, delta)-indistinguishable
// in both directions. A mechanism has cost (curve, failure)
// if for every ordered pair of neighbours there is an event of probability at
// least 1 - failure on which the divergence of order a, not renormalised, is
// at most curve(a); both parts add (conversion by Canonne, Kamath,
// Steinke 2020, Proposition 12). The unit, record or user, is what the caller
// counts as one change of the data.
//
// # Caveats
//
// Noise multipliers are relative to the sensitivity under the relation of the
// account; PATE events are per vote, and a record moves one vote under either
// relation. Poisson sampling means Poisson sampling: shuffled or fixed-size
// batches cost more and have no event. Stopping early on the strength of the
// answers needs a filter, not this package. Upper bounds carry a relative
// slack of 2e-12 for rounding; the arithmetic is float64, not interval
// arithmetic.
package accountant
