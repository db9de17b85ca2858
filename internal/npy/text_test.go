package npy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
