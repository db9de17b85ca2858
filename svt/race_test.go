//go:build race

package svt

// The race detector slows a single goroutine tenfold and learns nothing from it. Under it,
// tests draw less, use smaller worlds and skip the controls that need all draws.
const raceDetector = true
