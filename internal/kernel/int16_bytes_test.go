package kernel

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Bytes are little-endian wherever they lie, and come back.
func TestInt16Bytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOf(rapid.Int16()).Draw(t, "x")
		before := rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "before")
		b := AppendInt16(before, x)
		require.Equal(t, before, b[:len(before)])
		b = b[len(before):]
		require.Len(t, b, 2*len(x))
		for i, v := range x {
			require.Equal(t, uint16(v), binary.LittleEndian.Uint16(b[2*i:]))
		}
		back := make([]int16, len(x))
		LoadInt16(back, b)
		require.Equal(t, append([]int16{}, x...), back)
	})
	require.Panics(t, func() { LoadInt16(make([]int16, 2), make([]byte, 3)) })
}
