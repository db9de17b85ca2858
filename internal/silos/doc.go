// Package silos releases labels by votes of private units that lie in several silos, such as hospitals. Each
// silo counts by itself, and only counts are put together.
//
// [Cast] lets the units of one silo vote at their nearest questions. The questions follow from public rows
// and public numbers alone, so silos agree on them. Cast writes the votes without noise to a private file,
// with the [Terms] on which silos must agree. [Release] reads the files of all silos, adds the counts,
// charges the ledger once, and releases noisy counts and labels.
//
// # Guarantee
//
// The votes of a unit depend on rows of this unit and on public rows. If silos share no unit, the sum of
// their counts equals the counts of one table with all rows, bit for bit. The release then has the cost of
// [neighbours.NearestQuestions]. If up to K silos may count one unit, the release is charged for a group
// of K units ([accountant.Group]). Release refuses several silos unless K is declared, or keyed hashes of
// units show that no unit is in two silos (package manifest).
//
// # Caveats
//
// A silo's file is as private as its rows. The party that runs Release sees the counts without noise. Hashes
// show that no unit is in two lists, but not that a list is true. Release trusts the counts of each silo. It
// refuses only impossible counts, and a manifest whose number of units does not fit the counts.
package silos
