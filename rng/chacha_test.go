package rng

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestSourceIsTheStandardLibrarys checks both ways of making words against those of
// math/rand/v2, over several keys' worth.
func TestSourceIsTheStandardLibrarys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var secret [32]byte
		for i := range secret {
			secret[i] = rapid.Byte().Draw(t, "secret")
		}
		var s source
		for on := portable; on <= machine; on++ {
			s.seedBy(on, secret) // what was there before plays no part
			std := rand.NewChaCha8(secret)
			for i := range 500 {
				require.Equal(t, std.Uint64(), s.Uint64(), "word %d, path %d", i, on)
			}
		}
	})
}
