//go:build race

package analysis

// The race detector slows a single goroutine tenfold and learns nothing from it.
const raceDetector = true
