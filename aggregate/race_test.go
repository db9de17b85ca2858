//go:build race

package aggregate

// The race detector slows a single goroutine tenfold and learns nothing from it:
// a tenth of the draws, no controls, which need them all, and no slow accounts.
const raceDetector = true
