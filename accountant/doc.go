// Package accountant bounds the total privacy cost of the private computations of a run.
//
// An [Event] is plain data that describes a computation: the mechanism and its parameters. An [Accountant]
// composes events adaptively and bounds the (epsilon, delta) of the composition. All mechanisms of a run
// share one account:
//
//	account, err := accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove})
//	step := accountant.PoissonSampled{Probability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 4}}
//	err = account.Compose(step, 10000)
//	bound, err := account.Epsilon(ctx, 1e-5) // bound.Upper is 1.0354
//
// # Accountants
//
// [RDP] supports every event, under the relation for which the event is defined. RDP.Epsilon and RDP.Delta
// take a millisecond or less. [PLD] is usually the tightest accountant and returns an interval. PLD supports
// events with a known privacy loss distribution. Extreme parameters may take long, so Epsilon takes a
// context. Package theorems has the composition theorems, zCDP, and the epsilons of published estimates. If
// all events are fixed in advance, the function [Epsilon] selects the accountant.
//
// Equal events are merged, so the time does not grow with their number.
//
// # Guarantee
//
// Assume that the events describe the run, with counts and parameters fixed in advance. Earlier outputs may
// choose the order of the events. Then the outputs on any two neighbouring data sets are (Upper,
// delta)-indistinguishable in both directions. [Relation] defines neighbours. The caller defines the privacy
// unit: a record or a user.
//
// Let P and Q be the output distributions of a mechanism on an ordered pair of neighbours. The mechanism has
// the cost (curve, failure) if condition 1 holds for all pairs, or condition 2 holds for all pairs:
//
//  1. Some set S of outputs has P(S) >= 1 - failure, and sum_S P^a Q^(1-a) <= e^((a-1) curve(a)) for every
//     order a > 1.
//  2. P and Q are mixtures as in [WithFailure].
//
// Every mechanism with an (epsilon, delta) guarantee in both directions meets condition 2. Under composition,
// curves and failures add up. [Improved] converts the sums to (epsilon, delta).
//
// # The order may be adaptive
//
// Let a run use each mechanism of a fixed multiset once. Let earlier outputs choose the next mechanism. Then
// the product of the mechanisms' dominating pairs dominates the run. The proof is by induction on the number
// of remaining mechanisms. Let the first output y have distributions p and q. Given y, let P_y and Q_y be the
// distributions of the remaining steps. Let H(P, Q; g) be the hockey-stick divergence at ratio g, the
// integral of (P - g Q)_+. The divergence of the whole run at ratio g is
//
//	integral (p(y) P_y - g q(y) Q_y)_+ = integral p(y) H(P_y, Q_y; g q(y)/p(y)).
//
// Only the order of the remaining mechanisms depends on y. By induction, H is at most the divergence of the
// product of the remaining pairs, at the same ratio. So the integral is at most the divergence of the product
// of all pairs. The order of a product does not matter. The same argument for the integral of P^a Q^(1-a)
// shows that the curves add up. If the multiset itself depends on outputs, the argument fails: use a filter
// (package ledger).
//
// In a ledger of mode Reserved, the steps of several mechanisms may be interleaved. The proof covers
// interleaved steps if each step has its own noise. A sparse vector keeps its threshold noise between
// answers, so it is not a multiset of steps. For interleaved sparse vectors the bounds are valid by
// concurrent composition (Haney et al. 2023). This theorem is proved for Rényi divergences and (epsilon,
// delta) (Lyu 2022), and for dominating pairs (Vadhan, Zhang 2023).
//
// # Caveats
//
// Noise multipliers are relative to the sensitivity under the relation of the account. The noise of PATE
// events is relative to one vote. A record changes one vote under either relation. Poisson sampling includes
// each record independently. Batches of fixed size and truncated batches have their own events. Shuffled
// batches cost more than Poisson samples and have no event. Events record whether noise is integer or
// continuous, because the privacy loss distributions differ.
//
// The arithmetic is float64, not interval arithmetic. Curves with a closed form have a relative error of at
// most 3e-13, for noise up to 1e9 and orders from 1 + 1e-6 to 10^6. Tests compare these curves with 96-digit
// arithmetic. Composed divergences are multiplied by 1 + 2e-12. This factor also covers the rounding of a sum
// over 10^4 different events. A conversion adds its largest possible cancellation error.
package accountant
