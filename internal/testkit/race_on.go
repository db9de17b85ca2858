//go:build race

package testkit

// Race says that the race detector is on. It slows a single goroutine tenfold and learns nothing from it,
// so under it tests draw less and use smaller worlds.
const Race = true
