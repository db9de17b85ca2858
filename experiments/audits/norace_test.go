//go:build !race

package audits

const raceDetector = false
