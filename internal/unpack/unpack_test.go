package unpack

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

func TestCappedReaderFailsBeyondItsLimit(t *testing.T) {
	for size, ok := range map[int]bool{9: true, 10: true, 11: false} {
		var b bytes.Buffer
		_, err := b.ReadFrom(&capped{r: bytes.NewReader(make([]byte, size)), left: 10, full: errTooLarge})
		if ok {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, errTooLarge)
		}
		require.Equal(t, min(size, 10), b.Len())
	}
}

func TestDenseFilesEndEarly(t *testing.T) {
	bomb := testkit.Must(zstd.NewWriter(nil)).EncodeAll(make([]byte, smallBytes+1<<20), nil)
	require.Less(t, len(bomb), 1<<18)
	f := testkit.Must(Open(testkit.Write(t, filepath.Join(t.TempDir(), "bomb.zst"), bomb)))
	defer f.Close()
	n, err := io.Copy(io.Discard, testkit.Must(Reader(f)))
	require.ErrorIs(t, err, errTooDense)
	require.Equal(t, int64(smallBytes), n)
}

func TestSumIsOfTheUnpackedBytes(t *testing.T) {
	want := sha256.Sum256([]byte("text"))
	for _, raw := range [][]byte{[]byte("text"), testkit.Gzip([]byte("text"))} {
		path := testkit.Write(t, filepath.Join(t.TempDir(), "f"), raw)
		require.Equal(t, hex.EncodeToString(want[:]), testkit.Must(Sum(path)))
	}
	require.ErrorContains(t, testkit.Err(Sum(t.TempDir())), "no regular file")
}
