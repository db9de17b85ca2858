package npy

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

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

func TestText(t *testing.T) {
	for _, bad := range []string{"", "U3", "<U", "<U0", "<U-1", "|U3", "<S3", "<U1025", "|S99999999999999999999", "<i8"} {
		_, ok := TextOf(bad)
		require.False(t, ok, bad)
	}
	for descr, raw := range map[string]string{
		"<U3": "h\x00\x00\x00\xe9\x00\x00\x00\x00\x00\x00\x00", ">U2": "\x00\x00\x00h\x00\x00\x00\xe9", "|S4": "h\xc3\xa9\x00",
	} {
		typ, ok := TextOf(descr)
		require.True(t, ok)
		require.True(t, typ.IsText())
		require.Len(t, raw, typ.Size)
		require.Equal(t, "_hé", string(AppendText([]byte("_"), []byte(raw), typ)), descr)
	}
	require.Equal(t, "\ufffd", string(AppendText(nil, []byte{255, 255, 255, 255}, Type{Kind: 'U', Size: 4})))
}
