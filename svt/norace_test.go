//go:build !race

package svt

const raceDetector = false
