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
// # Accountants
//
// [RDP] holds every event, under the relation it is meant for. [PLD], the tightest, holds those whose loss
// distribution is known, and answers with an interval. [Concentrated] (zCDP) is its special case without
// sampling, in closed form. [Moments] repeats published numbers of 2016.
// [Basic], [Advanced] and [Optimal] are the composition theorems, which know
// only each event's (epsilon, delta) and so are right for anything, but blind
// to what Gaussian noise makes unlikely. Most answer in a millisecond or less;
// Optimal may take seconds for 10^8 different runs, and PLD, which may for
// extreme parameters, takes a context and a bound on its memory. All are pure functions of the events,
// which are merged by value: a hundred thousand composes of one step cost what
// one [Repeated] does, and asking changes nothing. [StrongComposition] and
// [CentralLimit] are numbers of the literature that are no bounds; they return
// an [Estimate], which cannot be mistaken for one.
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
// relation. Poisson sampling means Poisson sampling: batches of fixed size and
// truncated ones are other events, and shuffled ones, which cost more, have
// none. Integer noise and continuous noise have the same Rényi bound but not
// the same loss distribution: events say which was drawn. Stopping early on the
// strength of the answers needs a filter, which is package ledger's. Upper bounds carry a relative
// slack of 2e-12 for rounding; the arithmetic is float64, not interval
// arithmetic.
package accountant
