//go:build race

package testkit

// Race is true: this build has the race detector, which makes one goroutine at least ten times slower.
const Race = true
