// Package theorems has accountants by composition theorems, and estimates from the literature that are not
// bounds.
//
// [NewBasic], [NewAdvanced] and [NewOptimal] use only the (epsilon, delta) of each event. Their bounds are
// valid for every mechanism, but ignore that large losses of Gaussian noise are improbable. [Concentrated]
// accounts by zero-concentrated differential privacy, in closed form. [NewMoments] is the moments accountant
// as published in 2016. All implement [accountant.Accountant], for comparison, teaching and checks. On
// supported events without failure probabilities, [accountant.PLD] is never looser than these accountants,
// beyond numerical error. [accountant.RDP] can be looser than NewOptimal on pure events.
//
// [NewStrongComposition] and [NewCentralLimit] return an [Estimator]. The results are not bounds.
//
// # Guarantee
//
// The results of every Accountant in this package are bounds in the sense of package accountant: Upper is
// rounded up, and Lower is 0.
//
// # Caveats
//
// Ledger charges, ledger checks and, by default, calibration do not use this package. NewOptimal may take
// seconds for 10^8 runs with different epsilons.
package theorems
