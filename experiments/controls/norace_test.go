//go:build !race

package controls

const raceDetector = false
