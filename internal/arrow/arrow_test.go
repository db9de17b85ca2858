package arrow_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/arrow"
)

// samples are files that pyarrow wrote; what is in them is tested in package votes.
func samples(t testing.TB) map[string][]byte {
	out := map[string][]byte{}
	names, err := filepath.Glob("../../teachers/votes/testdata/arrow/*.*ow*")
	require.NoError(t, err)
	more, err := filepath.Glob("../../teachers/votes/testdata/arrow/*.feather")
	require.NoError(t, err)
	for _, name := range append(names, more...) {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		out[filepath.Base(name)] = raw
	}
	require.Len(t, out, 11)
	return out
}

// all reads a table to its end, or to its first error.
func all(raw []byte) (rows int, err error) {
	table, err := arrow.Open(bytes.NewReader(raw), int64(len(raw)), "f")
	if err != nil {
		return 0, err
	}
	for ; ; rows++ {
		cells, err := table.Next()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		if len(cells) != len(table.Columns()) {
			panic("a row of other columns")
		}
	}
}

// TestEveryByte: whatever byte is another, nothing panics, rows have bytes behind them, and
// an error names the file.
func TestEveryByte(t *testing.T) {
	for name, raw := range samples(t) {
		for i := range raw {
			for _, by := range []byte{1, 0x80, 0xff} {
				damaged := bytes.Clone(raw)
				damaged[i] ^= by
				rows, err := all(damaged)
				require.LessOrEqual(t, rows, 8*len(raw), name)
				var told *arrow.Error
				if err != nil {
					require.ErrorAs(t, err, &told, name)
					require.Equal(t, "f", told.File)
				}
			}
		}
	}
}

// TestLies: what claims more than is there is told with the batch and the column.
func TestLies(t *testing.T) {
	raw := samples(t)["whole.arrows"]
	// The first record batch has 2 rows, and a FieldNode of 2 rows for each column.
	batch := bytes.Index(raw, binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 2), 0))
	require.Positive(t, batch)
	change := func(at int, v uint64) []byte {
		out := bytes.Clone(raw)
		binary.LittleEndian.PutUint64(out[at:], v)
		return out
	}
	_, err := all(change(batch, 1<<39))
	require.ErrorContains(t, err, `f: record batch 0 has 2 rows, and column "t0" has 549755813888`)
	_, err = all(change(batch+8, 1))
	require.ErrorContains(t, err, `f: record batch 0 column "t0" claims missing values and does not say which`)
	many := bytes.ReplaceAll(raw, raw[batch:batch+8], binary.LittleEndian.AppendUint64(nil, 1<<39))
	_, err = all(many)
	require.ErrorContains(t, err, "f: ")

	zstd := samples(t)["zstd.arrow"]
	at := bytes.Index(zstd, []byte("\x28\xb5\x2f\xfd")) - 8 // before what is packed stands its length
	if at < 0 {
		at = bytes.LastIndex(zstd, bytes.Repeat([]byte{0xff}, 8)) // or that it is not packed
	}
	out := bytes.Clone(zstd)
	binary.LittleEndian.PutUint64(out[at:], 1<<40)
	_, err = all(out)
	require.ErrorContains(t, err, "claims to unpack to 1099511627776 bytes")
	require.ErrorContains(t, err, "record batch 0 column")
}

func FuzzArrow(f *testing.F) {
	for _, raw := range samples(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		table, err := arrow.Open(bytes.NewReader(raw), int64(len(raw)), "f")
		for n := 0; err == nil && n < 1000; n++ {
			_, err = table.Next()
		}
		var told *arrow.Error
		if err != nil && err != io.EOF {
			require.ErrorAs(t, err, &told)
			require.Equal(t, "f", told.File)
		}
	})
}
