package svt

import "github.com/pate-go/pate/internal/rng"

// Key is the 256-bit secret from which all noise of a run derives. It redacts itself when
// printed or logged. Anyone who knows it can remove the noise.
type Key = rng.Key

// NewKey draws a key from the operating system.
func NewKey() (Key, error) { return rng.NewKey() }

// SeedKey returns a key for repeatable experiments. Nothing under it is releasable.
func SeedKey(seed uint64) Key { return rng.SeedKey(seed) }
