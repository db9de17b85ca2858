package aggregate

import "github.com/pate-go/pate/internal/rng"

// Key is the 256-bit secret all noise of a run derives from. It redacts itself
// when printed or logged; a person who knows it can remove the noise.
type Key = rng.Key

// NewKey draws a key from the operating system.
func NewKey() (Key, error) { return rng.NewKey() }

// SeedKey makes a key for repeatable experiments. Nothing under it is
// releasable.
func SeedKey(seed uint64) Key { return rng.SeedKey(seed) }
