//go:build race

package testkit

// Race is true under the race detector, which slows a single goroutine by a factor of at least ten.
const Race = true
