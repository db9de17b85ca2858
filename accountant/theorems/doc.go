// Package theorems has the accountants of the composition theorems, and the numbers of the literature that
// are no bounds.
//
// [NewBasic], [NewAdvanced] and [NewOptimal] see only the (epsilon, delta) of each event. They are right
// for anything, and blind to what Gaussian noise makes unlikely. [Concentrated] accounts by
// zero-concentrated differential privacy, in closed form. [NewMoments] is the moments accountant as it was
// published in 2016. All are accountants of package accountant, whose RDP and PLD are as tight or tighter
// for the events they hold; these serve to compare, to teach and to check.
//
// [NewStrongComposition] and [NewCentralLimit] return an [Estimate], which cannot be mistaken for a bound.
//
// # Guarantee
//
// Upper of every Accountant here is a bound in the sense of package accountant, rounded up. Lower is 0.
//
// # Caveats
//
// Nothing that charges, calibrates by default or checks a ledger uses this package. The optimal one may
// take seconds for 10^8 different runs.
package theorems
