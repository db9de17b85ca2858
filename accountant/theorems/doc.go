// Package theorems has accountants by composition theorems, and estimates from the literature that are not
// bounds.
//
// [NewBasic], [NewAdvanced] and [NewOptimal] use only the (epsilon, delta) of each event. They are valid for
// every mechanism, but cannot use that Gaussian noise makes large losses unlikely. [Concentrated] accounts
// by zero-concentrated differential privacy, in closed form. [NewMoments] is the moments accountant as
// published in 2016. All implement the Accountant of package accountant, whose RDP and PLD are as tight or
// tighter for the events they support. The accountants here serve to compare, to teach and to check.
//
// [NewStrongComposition] and [NewCentralLimit] return an [Estimate], a type that cannot be taken for a
// bound.
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
