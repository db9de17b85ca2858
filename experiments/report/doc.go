// Package report writes a comparison for people: tables in every format, figures as SVG, and one
// self-contained HTML page.
//
// # Caveats
//
// The histogram of vote gaps and the rows without epsilon depend on the private data and are not charged. The
// page marks them. Remove them before you publish the page.
package report
