//go:build race

package testkit

// Race is true, because this build has the race detector.
const Race = true
