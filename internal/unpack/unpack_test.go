package unpack

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

func TestCappedReaderFailsBeyondItsLimit(t *testing.T) {
	for size, ok := range map[int]bool{9: true, 10: true, 11: false} {
		var b bytes.Buffer
		_, err := b.ReadFrom(&capped{r: bytes.NewReader(make([]byte, size)), left: 10})
		if ok {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, errTooLarge)
		}
		require.Equal(t, min(size, 10), b.Len())
	}
}

func TestDenseFilesEndEarly(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	bomb := enc.EncodeAll(make([]byte, smallBytes+1<<20), nil)
	require.Less(t, len(bomb), 1<<18)
	path := filepath.Join(t.TempDir(), "bomb.zst")
	require.NoError(t, os.WriteFile(path, bomb, 0o600))
	f, err := Open(path)
	require.NoError(t, err)
	defer f.Close()
	plain, err := Reader(f)
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, plain)
	require.ErrorIs(t, err, errTooDense)
	require.Equal(t, int64(smallBytes), n)
}

func TestSumIsOfTheUnpackedBytes(t *testing.T) {
	want := sha256.Sum256([]byte("text"))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte("text"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for _, raw := range [][]byte{[]byte("text"), packed.Bytes()} {
		path := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(path, raw, 0o600))
		got, err := Sum(path)
		require.NoError(t, err)
		require.Equal(t, hex.EncodeToString(want[:]), got)
	}
	_, err = Sum(t.TempDir())
	require.ErrorContains(t, err, "no regular file")
}
