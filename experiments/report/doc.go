// Package report writes a comparison for people: tables in all formats, figures as SVG, and one HTML page
// that contains everything.
//
// # Caveats
//
// The histogram of vote gaps and the rows without epsilon depend on the private data and are not charged. The
// page marks them. Remove them before you publish the page.
package report
