package votes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/npy"
)

// TestAllWithinOnEveryByte puts every byte at every place, alone among good ones.
func TestAllWithinOnEveryByte(t *testing.T) {
	for _, c := range []struct{ add, limit int }{{0, 0}, {0, 1}, {0, 9}, {0, 126}, {1, 2}, {1, 10}, {1, 127}} {
		for length := range 18 {
			for at := range length {
				raw := make([]byte, length)
				for v := range 256 {
					raw[at] = byte(v)
					require.Equal(t, int(byte(v+c.add)) <= c.limit, allWithin(raw, c.add, c.limit), "%+v: %d at %d of %d", c, v, at, length)
				}
			}
		}
	}
}

// TestOneBadVoteIsFound writes one bad byte among good ones, for a signed and an
// unsigned type.
func TestOneBadVoteIsFound(t *testing.T) {
	for v := range 256 {
		raw := []byte{0, 1, 2, 0, 1, 2, 0, byte(v), 0, 1, 2}
		dst := make([]byte, len(raw))
		bad := decode(dst, raw, npy.Type{Kind: 'i', Size: 1}, domain{low: Abstention, limit: 3})
		require.Equal(t, int8(v) >= -1 && int8(v) < 3, bad == 0)
		require.Equal(t, bad > 0, signed(dst[7]) < Abstention)
		bad = decode(dst, raw, npy.Type{Kind: 'u', Size: 1}, domain{low: Abstention, limit: 3})
		require.Equal(t, v < 3, bad == 0)
		require.Equal(t, bad > 0, signed(dst[7]) < Abstention)
	}
}

func TestTallyIsEmptyAfterwards(t *testing.T) {
	var tally tally
	dst := make([]int, 3)
	for range 3 {
		tally.count(dst, []byte{0, 1, 1, 2, 0xff, 1, 1, 2, 0, 0xff, 1})
		require.Equal(t, []int{2, 5, 2}, dst)
	}
}
