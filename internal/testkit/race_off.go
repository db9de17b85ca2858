//go:build !race

package testkit

// Race is true under the race detector.
const Race = false
