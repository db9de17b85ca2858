// Package theorems has accountants by composition theorems, and estimates from the literature that are no
// bounds.
//
// [NewBasic], [NewAdvanced] and [NewOptimal] use only the (epsilon, delta) of each event. Their bounds hold
// for every mechanism, but ignore that large losses of Gaussian noise are improbable. [Concentrated] accounts
// by zero-concentrated differential privacy, in closed form. [NewMoments] is the moments accountant as
// published in 2016. All implement [accountant.Accountant]. [accountant.RDP] and [accountant.PLD] are as
// tight or tighter for the events they support. The accountants here are for comparison, teaching and checks.
//
// [NewStrongComposition] and [NewCentralLimit] return an [Estimator], whose results are no bounds.
//
// # Guarantee
//
// Upper of every Accountant here is a bound in the sense of package accountant, rounded up. Lower is 0.
//
// # Caveats
//
// No code that charges, calibrates by default or checks a ledger uses this package. NewOptimal may take
// seconds for 10^8 different runs.
package theorems
