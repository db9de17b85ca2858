//go:build !race

package testkit

// Race is false, because this build has no race detector.
const Race = false
