// Package mutation checks the tests: it breaks one line that privacy depends on,
// runs the tests that should notice, and expects them to fail.
//
// The list of mutations is the text under mutations/, one file for each group of
// packages. A mutation replaces a text that occurs exactly once in a file. It is
// applied in an overlay of the go command: no file of the tree changes. A
// mutation that no test notices "survives"; then a test is missing, or the line
// protects nothing.
//
// Run the list with
//
//	go run ./internal/mutation/mutate -all
//	go run ./internal/mutation/mutate stability/ svt/msvec-delta
//
// A line that charges, clips, draws or compares has a mutation here. Who changes
// such a line changes its entry, and a test of this package says so: every old
// text must occur exactly once.
package mutation
