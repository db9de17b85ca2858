//go:build race

package svt

// The race detector slows a single goroutine tenfold and learns nothing from it:
// fewer draws, smaller worlds, and no controls that need them all.
const raceDetector = true
