// Package report writes a comparison for people: tables in every format, figures as SVG, and one HTML page
// that needs nothing else. The page begins with which method won; of several epsilons it draws accuracy
// against epsilon.
//
// # Caveats
//
// The vote-gap histogram and the rows without epsilon are functions of the private data that nobody paid
// for. The page says so where they stand; cut them out before the page leaves the house.
package report
