//go:build !race

package rng

const raceDetector = false
