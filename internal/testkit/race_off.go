//go:build !race

package testkit

// Race is set under the race detector.
const Race = false
