// Package report writes a comparison as tables in all formats, figures as SVG, and one HTML page with
// everything.
//
// # Caveats
//
// The histogram of vote gaps and the rows without epsilon depend on the private data and are not charged.
// Remove these parts, which the page marks, before you publish the page.
package report
