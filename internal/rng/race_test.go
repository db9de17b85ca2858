//go:build race

package rng

// The race detector slows a single goroutine tenfold and learns nothing from it. Under it,
// tests draw a tenth as much and skip the controls, which need all draws.
const raceDetector = true
