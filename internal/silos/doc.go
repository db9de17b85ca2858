// Package silos releases labels by votes of private units that lie in several silos, such as hospitals. Silos
// share counts of votes, but no rows.
//
// [Cast] lets each unit of a silo vote at the questions nearest to its rows. The questions depend only on
// public rows and public numbers, so all silos have the same questions. [Counts.Write] writes the votes
// without noise, and the [Terms] on which silos must agree, to a private file. [Add] reads the files and adds
// the counts. [Release] charges the ledger once, and releases noisy counts and labels.
//
// # Guarantee
//
// The votes of a unit depend on rows of this unit and on public rows. If silos share no unit, the sum of
// their counts equals the counts of one table with all rows, bit for bit. The release then has the cost of
// [neighbours.NearestQuestions]. If up to K silos may count one unit, the release is charged for a group of K
// units ([accountant.Group]). For several silos, Release requires a declared K, or keyed hashes that show
// that silos share no unit (package manifest).
//
// # Caveats
//
// A silo's file is as private as its rows. The party that runs Release sees the counts without noise. Hashes
// show that lists share no unit, but not that the lists are correct. Impossible counts are refused, and so is
// a manifest with a number of units that does not fit the counts. All other counts are trusted.
package silos
