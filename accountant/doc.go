// Package accountant answers what private computations cost together.
//
// A computation is described by an [Event], plain data: which mechanism ran with which parameters. An
// [Accountant] composes events adaptively and bounds the (epsilon, delta) of the whole. [RDP] holds a Rényi
// divergence curve plus a failure probability; the two add up under composition, so noisy argmax, sampled
// gradients and stability releases share one account:
//
//	account, err := accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove})
//	step := accountant.PoissonSampled{Probability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 4}}
//	err = account.Compose(step, 10000)
//	bound, err := account.Epsilon(ctx, 1e-5) // bound.Upper is 1.0354
//
// # Accountants
//
// [RDP] holds every event, under the relation it is meant for. [PLD], the tightest, holds those whose loss
// distribution is known, and answers with an interval. The composition theorems, zCDP and published numbers
// are in package theorems. RDP answers in a millisecond or less; PLD may take longer for extreme
// parameters: Epsilon takes a context, and its configuration a bound on its memory. Both are pure functions
// of the events, which are merged by value: a hundred thousand composes of one step cost what one
// [Repeated] does, and asking changes nothing. [Epsilon] is the short way for events that are all known.
//
// # Guarantee
//
// Let the events describe the run, with numbers and parameters fixed in advance, in an order that may be
// chosen while looking at earlier answers. Then on neighbouring data sets in the sense of the [Relation]
// the outputs are (Upper, delta)-indistinguishable in both directions. The unit, record or user, is what
// the caller counts as one change of the data.
//
// A mechanism has cost (curve, failure) in one of two ways. Either, for every ordered pair of neighbours,
// there is an event of probability at least 1 - failure on which the divergence of order a, not
// renormalised, is at most curve(a). Or its two laws are mixtures as in [WithFailure], which an (epsilon,
// delta) guarantee in both directions gives. Both parts of the cost add, and so does a composition of
// mechanisms of either kind (conversion by Canonne, Kamath, Steinke 2020, Proposition 12).
//
// # The order may be adaptive
//
// Let every step be drawn from a fixed multiset of mechanisms, each used once, the next one chosen by the
// answers so far. The run is dominated by the product of their pairs, whatever the choice. This is by
// induction on how many are left. Let the first step have laws p and q of its answer y, and the rest, given
// y, the laws P_y and Q_y. The hockey-stick divergence of the whole at ratio g is
//
//	integral (p(y) P_y - g q(y) Q_y)_+ = integral p(y) H(P_y, Q_y; g q(y)/p(y)).
//
// The rest does not depend on y, only its order does, so by induction the last factor is at most the
// divergence of the product of the rest, at the same ratio. The whole is then at most the divergence of the
// first step times this product; and products commute. The same argument with moments in place of H serves
// the curves. It fails if the multiset itself depends on answers: then a filter is needed, which is package
// ledger's.
//
// Sessions that are open side by side and release step by step, as in the mode Reserved of package ledger,
// are covered by this argument where each step has noise of its own. A session that keeps noise between
// answers, such as a sparse vector, is not a multiset of steps. For it the bounds hold by concurrent
// composition (Lyu 2022 for Rényi and for (epsilon, delta); Vadhan, Zhang 2023 for pairs; Haney et al.
// 2023).
//
// # Caveats
//
// Noise multipliers are relative to the sensitivity under the relation of the account; PATE events are per
// vote, and a record moves one vote under either relation. Poisson sampling means Poisson sampling: batches
// of fixed size and truncated ones are other events, and shuffled ones, which cost more, have none. Integer
// noise and continuous noise have the same Rényi bound but not the same privacy loss distribution: events
// record which was drawn. Stopping early on the strength of the answers needs a filter.
//
// The arithmetic is float64, not interval arithmetic. Curves are good to 3e-13 relative where they are
// exact, for noise up to 1e9 and orders from 1 + 1e-6 to 10^6; tests compare them with 96-digit arithmetic.
// Composed divergences are raised by 2e-12, which also covers 10^4 different events, and conversions round
// up by what their terms can lose when they cancel.
package accountant
