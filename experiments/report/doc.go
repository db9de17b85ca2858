// Package report writes a comparison for people: tables in every format, figures as SVG, and one HTML page
// that needs nothing else. The page begins with the method that won; for several epsilons it draws accuracy
// against epsilon.
//
// # Caveats
//
// The vote-gap histogram and the rows without epsilon are unpaid functions of the private data. The page
// marks them; cut them out before the page leaves the house.
package report
