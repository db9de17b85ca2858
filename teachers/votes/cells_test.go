package votes

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
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
		bad := decode(dst, raw, npyType{'i', 1, false}, domain{Abstention, 3})
		require.Equal(t, int8(v) >= -1 && int8(v) < 3, bad == 0)
		require.Equal(t, bad > 0, signed(dst[7]) < Abstention)
		bad = decode(dst, raw, npyType{'u', 1, false}, domain{Abstention, 3})
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

// TestHalfFloat has the landmarks of the format and every whole number in it.
func TestHalfFloat(t *testing.T) {
	for bits, want := range map[uint16]float64{
		0: 0, 0x3c00: 1, 0xbc00: -1, 0x0001: 0x1p-24, 0x03ff: 0x3ffp-24, 0x0400: 0x1p-14, 0x3555: 0.333251953125, 0x7bff: 65504, 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1),
	} {
		require.Equal(t, want, halfFloat(bits), "%#x", bits)
	}
	require.True(t, math.Signbit(halfFloat(0x8000)))
	require.True(t, math.IsNaN(halfFloat(0x7e00)))
	require.True(t, math.IsNaN(halfFloat(0xfc01)))
	last := -1.0
	for bits := range uint16(0x7c00) {
		require.Greater(t, halfFloat(bits), last, "%#x", bits)
		last = halfFloat(bits)
	}
}
