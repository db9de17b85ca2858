// Package accountant bounds the total privacy cost of the private computations of a run.
//
// An [Event] is plain data that describes a computation: the mechanism and its parameters. An [Accountant]
// composes events adaptively and bounds the (epsilon, delta) of the composition. For example, [RDP] adds up
// Rényi divergence curves and failure probabilities. All mechanisms of a run share one account:
//
//	account, err := accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove})
//	step := accountant.PoissonSampled{Probability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 4}}
//	err = account.Compose(step, 10000)
//	bound, err := account.Epsilon(ctx, 1e-5) // bound.Upper is 1.0354
//
// # Accountants
//
// [RDP] supports every event, under the relation for which the event is defined. A call of Epsilon or
// Delta takes a millisecond or less. [PLD] is the tightest accountant and returns an interval. It
// supports the events whose privacy loss distribution is known. Extreme parameters may take long, so
// Epsilon takes a context. Package theorems has the composition theorems, zCDP, and the epsilons of
// published estimates. If all events are fixed in advance, the function [Epsilon] selects the
// accountant.
//
// Equal events are merged, so the time does not grow with their number.
//
// # Guarantee
//
// Assume that the events describe the run, and that their counts and parameters are fixed in advance. Earlier
// outputs may choose the order of the events. Then the outputs on any two neighbouring data sets are (Upper,
// delta)-indistinguishable in both directions. [Relation] defines neighbours. The caller defines the privacy
// unit: a record or a user.
//
// A mechanism has the cost (curve, failure) if it meets one of two conditions. Let P and Q be the output
// distributions on an ordered pair of neighbours. Condition 1: for every pair, some set S of outputs has
// P(S) >= 1 - failure and sum_S P^a Q^(1-a) <= e^((a-1) curve(a)) for every order a > 1. Condition 2: P and Q
// are mixtures as in [WithFailure]. Every mechanism with an (epsilon, delta) guarantee in both directions
// meets condition 2. Under composition the curves add up, and so do the failures. [Improved] converts the
// sums to (epsilon, delta).
//
// # The order may be adaptive
//
// Let every step be drawn from a fixed multiset of mechanisms, each used once. Let earlier outputs choose the
// next mechanism. Then the product of the mechanisms' dominating pairs dominates the run. The proof is by
// induction on the number of remaining mechanisms. Let the first output y have distributions p and q. Let the
// remaining steps, conditioned on y, have distributions P_y and Q_y. Let H(P, Q; g) be the hockey-stick
// divergence at ratio g, the integral of (P - g Q)_+. The divergence of the whole run at ratio g is
//
//	integral (p(y) P_y - g q(y) Q_y)_+ = integral p(y) H(P_y, Q_y; g q(y)/p(y)).
//
// The remaining mechanisms do not depend on y, only their order does. By induction the factor H is at most
// the divergence of the product of the remaining pairs, at the same ratio. So the integral is at most the
// divergence of the product of all pairs. The order of a product does not matter. The same argument with
// moments in place of H shows that the curves add up. If the multiset itself depends on outputs, the argument
// fails: use a filter (package ledger).
//
// A ledger of mode Reserved allows that the steps of several mechanisms are interleaved. The proof
// covers them if each step has its own noise. A sparse vector keeps its threshold noise between answers,
// so it is not a multiset of steps. For interleaved sparse vectors the bounds are valid by concurrent
// composition (Haney et al. 2023). This theorem is proved for Rényi divergences and (epsilon, delta)
// (Lyu 2022), and for dominating pairs (Vadhan, Zhang 2023).
//
// # Caveats
//
// Noise multipliers are relative to the sensitivity under the relation of the account. The noise of PATE
// events is relative to one vote, because a record changes one vote under either relation. Poisson sampling
// includes each record independently. Batches of fixed size and truncated batches have their own events.
// Shuffled batches cost more than Poisson samples and have no event. Integer and continuous noise have the
// same Rényi bound, but different privacy loss distributions, so events record the type of the noise.
//
// The arithmetic is float64, not interval arithmetic. Curves with a closed form are computed with a
// relative error of at most 3e-13, for noise up to 1e9 and orders from 1 + 1e-6 to 10^6. Tests compare
// these curves with 96-digit arithmetic. Composed divergences are multiplied by 1 + 2e-12. The factor
// also covers the rounding of a sum over 10^4 different events. A conversion adds its largest possible
// cancellation error.
package accountant
