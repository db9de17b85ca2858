// Package report writes a comparison for people: tables in every format, figures as SVG, and one
// self-contained HTML page. The page begins with the best method; for several epsilons it draws accuracy
// against epsilon.
//
// # Caveats
//
// The vote-gap histogram and the rows without epsilon are functions of the private data that were not
// charged. The page marks them; remove them before you publish the page.
package report
