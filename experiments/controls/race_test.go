//go:build race

package controls

// The race detector slows a single goroutine tenfold and learns nothing from it: fewer
// runs, and not those controls that need many.
const raceDetector = true
