// Package accountant bounds the total privacy cost of the private computations of a run.
//
// An [Event] is plain data that describes a computation: the mechanism and its parameters. An [Accountant]
// composes events adaptively and bounds the (epsilon, delta) of the composition. [RDP] keeps a Rényi
// divergence curve and a failure probability. Both add up under composition. So noisy argmax, sampled
// gradients and stability releases can use the same account:
//
//	account, err := accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove})
//	step := accountant.PoissonSampled{Probability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 4}}
//	err = account.Compose(step, 10000)
//	bound, err := account.Epsilon(ctx, 1e-5) // bound.Upper is 1.0354
//
// # Accountants
//
// [RDP] supports every event, under the relation for which the event is defined. A query takes a millisecond
// or less. [PLD] is the tightest accountant and returns an interval. It supports the events whose privacy
// loss distribution is known. Extreme parameters may take long. So Epsilon takes a context, and the
// configuration bounds the memory. Package theorems has the composition theorems, zCDP and published
// estimates. If all events are fixed in advance, the function [Epsilon] selects the accountant.
//
// Results depend only on the events. Epsilon and Delta do not change an account. Equal events are merged, so
// the time does not grow with the count.
//
// # Guarantee
//
// Let the events describe the run, with counts and parameters fixed in advance. Earlier outputs may choose
// the order of the events. Let two data sets be neighbours in the sense of the [Relation]. Then their outputs
// are (Upper, delta)-indistinguishable in both directions. The caller defines the privacy unit: record or
// user.
//
// A mechanism has cost (curve, failure) if one of two conditions holds. (1) For every ordered pair of
// neighbours there is a set of outputs with probability at least 1 - failure. On this set the divergence of
// order a, not renormalised, is at most curve(a). (2) The two output distributions are mixtures as in
// [WithFailure]. Every mechanism with an (epsilon, delta) guarantee in both directions meets condition 2.
// Under composition the curves add up, and so do the failures. The conversion to (epsilon, delta) is
// [Improved].
//
// # The order may be adaptive
//
// Let every step be drawn from a fixed multiset of mechanisms, each used once. Let earlier outputs choose the
// next mechanism. Then the product of the mechanisms' dominating pairs dominates the run. The proof is by
// induction on the number of remaining mechanisms. Let the first output y have distributions p and q. Let the
// remaining steps, conditioned on y, have distributions P_y and Q_y. The hockey-stick divergence of the whole
// run at ratio g is
//
//	integral (p(y) P_y - g q(y) Q_y)_+ = integral p(y) H(P_y, Q_y; g q(y)/p(y)).
//
// The set of remaining mechanisms does not depend on y. Only their order does. By induction the factor H is
// at most the divergence of the product of the remaining pairs, at the same ratio. So the integral is at most
// the divergence of the product of all pairs. Products commute. The same argument with moments in place of H
// shows that the curves add up. The argument fails if the multiset itself depends on outputs. Then use a
// filter (package ledger).
//
// The argument also covers interleaved mechanisms if each step has its own noise. An example is the mode
// Reserved of package ledger. A sparse vector keeps its threshold noise between answers, so it is not a
// multiset of steps. For interleaved sparse vectors the bounds hold by concurrent composition (Lyu 2022 for
// Rényi and for (epsilon, delta); Vadhan, Zhang 2023 for pairs; Haney et al. 2023).
//
// # Caveats
//
// Noise multipliers are relative to the sensitivity under the relation of the account. PATE events are per
// vote. A record changes one vote under either relation. Poisson sampling includes each record independently.
// Fixed-size and truncated batches are separate events. Shuffled batches cost more and have no event. Integer
// and continuous noise have the same Rényi bound, but different privacy loss distributions. So events record
// the type of the noise. If outputs decide when a run stops, use a filter.
//
// The arithmetic is float64, not interval arithmetic. Exact curves have relative error 3e-13, for noise up to
// 1e9 and orders from 1 + 1e-6 to 10^6. Tests compare them with 96-digit arithmetic. Composed divergences are
// raised by a relative 2e-12. This also covers the sum over 10^4 different events. Conversions round up by
// their possible cancellation error.
package accountant
