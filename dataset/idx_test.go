package dataset

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func idxBytes(dims []uint32, data []byte) []byte {
	out := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		out = binary.BigEndian.AppendUint32(out, d)
	}
	return append(out, data...)
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestReadIDXReturnsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dims := rapid.SliceOfN(rapid.Uint32Range(1, 40), 1, 3).Draw(r, "dims")
		size := 1
		for _, d := range dims {
			size *= int(d)
		}
		data := bytes.Repeat([]byte{rapid.Byte().Draw(r, "value")}, size)
		file := idxBytes(dims, data)
		if rapid.Bool().Draw(r, "gzip") {
			file = gzipped(t, file)
		}
		a, err := readIDX(bytes.NewReader(file), len(dims))
		require.NoError(r, err)
		assert.Equal(r, data, a.data)
		_, err = readIDX(bytes.NewReader(file[:len(file)-1]), len(dims))
		assert.Error(r, err, "one byte short")
	})
}

func TestReadIDXDoesNotBelieveTheHeader(t *testing.T) {
	kilobyte := make([]byte, 1000)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"10^12 bytes":        {idxBytes([]uint32{1e6, 1e3, 1e3}, kilobyte), "claims more than"},
		"product overflows":  {idxBytes([]uint32{1 << 31, 1 << 31, 1 << 31}, kilobyte), "claims more than"},
		"no rows":            {idxBytes([]uint32{0, 28, 28}, nil), "dimension 1 is 0"},
		"just below the cap": {idxBytes([]uint32{1 << 10, 1 << 10, 1 << 10}, kilobyte), "there are 1000"},
		"the same, packed":   {gzipped(t, idxBytes([]uint32{1 << 10, 1 << 10, 1 << 10}, kilobyte)), "there are 1000"},
		"broken gzip":        {[]byte{0x1f, 0x8b, 8, 0, 0}, "EOF"},
		"empty":              {nil, "0 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := readIDX(bytes.NewReader(c.file), 3)
			runtime.ReadMemStats(&after)
			assert.ErrorContains(t, err, c.want)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "bytes allocated for a file of 1 KB")
		})
	}
}

func FuzzReadIDX(f *testing.F) {
	f.Add(idxBytes([]uint32{2, 1, 3}, make([]byte, 6)))
	f.Add(gzipped(f, idxBytes([]uint32{2, 1, 3}, make([]byte, 6))))
	f.Add(idxBytes([]uint32{1e6, 1e3, 1e3}, make([]byte, 6)))
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := readIDX(bytes.NewReader(file), 3)
		if err == nil && len(a.data) != a.dims[0]*a.dims[1]*a.dims[2] {
			t.Fatalf("%d bytes for dimensions %v", len(a.data), a.dims)
		}
	})
}
