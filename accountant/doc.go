// Package accountant bounds the total privacy cost of the private computations of a run.
//
// A computation is described by an [Event], plain data: the mechanism that ran and its parameters. An
// [Accountant] composes events adaptively and bounds the (epsilon, delta) of their composition. [RDP] keeps
// a Rényi divergence curve and a failure probability. Both add up under composition, so noisy argmax,
// sampled gradients and stability releases share one account:
//
//	account, err := accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove})
//	step := accountant.PoissonSampled{Probability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 4}}
//	err = account.Compose(step, 10000)
//	bound, err := account.Epsilon(ctx, 1e-5) // bound.Upper is 1.0354
//
// # Accountants
//
// [RDP] supports every event, under the relation for which the event is defined. [PLD], the tightest,
// supports the events whose privacy loss distribution is known, and returns an interval. Package theorems
// has the composition theorems, zCDP and published estimates. RDP takes a millisecond or less per query. PLD
// may take longer for extreme parameters: Epsilon takes a context, and its configuration bounds its memory.
// Both results are pure functions of the events. Equal events are merged: composing one step a hundred
// thousand times costs as much as one [Repeated], and queries change nothing. If all events are known, use
// [Epsilon].
//
// # Guarantee
//
// Let the events describe the run, with counts and parameters fixed in advance. Their order may be chosen
// using earlier outputs. Then, on neighbouring data sets in the sense of the [Relation], the outputs are
// (Upper, delta)-indistinguishable in both directions. The privacy unit, record or user, is what the caller
// counts as one change of the data.
//
// A mechanism has cost (curve, failure) in one of two ways. Either, for every ordered pair of neighbours,
// there is an event of probability at least 1 - failure on which the divergence of order a, not
// renormalised, is at most curve(a). Or its two output distributions are mixtures as in [WithFailure], which
// every (epsilon, delta) guarantee in both directions implies. Both parts of the cost add up when mechanisms
// of either kind are composed (conversion by Canonne, Kamath, Steinke 2020, Proposition 12).
//
// # The order may be adaptive
//
// Let every step be drawn from a fixed multiset of mechanisms, each used once, and let the earlier outputs
// choose the next one. The run is dominated by the product of the mechanisms' dominating pairs, whatever the
// choice. The proof is by induction on the number of remaining mechanisms. Let the first step's output y
// have the distributions p and q, and let the remaining steps, given y, have P_y and Q_y. The hockey-stick
// divergence of the whole run at ratio g is
//
//	integral (p(y) P_y - g q(y) Q_y)_+ = integral p(y) H(P_y, Q_y; g q(y)/p(y)).
//
// Which mechanisms remain does not depend on y, only their order does. By induction the last factor is at
// most the divergence of the product of their pairs, at the same ratio. The whole is then at most the
// divergence of the first step times this product; and products commute. The same argument with moments in
// place of H proves the curves. It fails if the multiset itself depends on outputs: that needs a filter
// (package ledger).
//
// The argument also covers sessions that are open side by side and release step by step, as in the mode
// Reserved of package ledger, if each step has its own noise. A session that keeps noise between answers,
// such as a sparse vector, is not a multiset of steps. For it the bounds hold by concurrent composition (Lyu
// 2022 for Rényi and for (epsilon, delta); Vadhan, Zhang 2023 for pairs; Haney et al. 2023).
//
// # Caveats
//
// Noise multipliers are relative to the sensitivity under the relation of the account. PATE events are per
// vote, and a record moves one vote under either relation. Poisson sampling means Poisson sampling:
// fixed-size and truncated batches are separate events; shuffled batches cost more and have no event.
// Integer noise and continuous noise have the same Rényi bound but not the same privacy loss distribution,
// so events record which was drawn. A stopping rule that depends on the outputs needs a filter.
//
// The arithmetic is float64, not interval arithmetic. Curves have relative error 3e-13 where they are exact,
// for noise up to 1e9 and orders from 1 + 1e-6 to 10^6; tests compare them with 96-digit arithmetic.
// Composed divergences are raised by 2e-12, which also covers 10^4 different events. Conversions round up by
// the error that cancellation between their terms can cause.
package accountant
