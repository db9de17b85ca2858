//go:build race

package testkit

// Race is set under the race detector, which slows a single goroutine tenfold and more.
const Race = true
