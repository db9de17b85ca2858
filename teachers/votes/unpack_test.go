package votes_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/teachers/votes"
)

// ofPandas reads a file of votes that pandas wrote.
func ofPandas(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata/parquet", name))
	require.NoError(t, err)
	return raw
}

// TestParquetVotes: votes and counts as pandas writes them mean what the same matrix means.
func TestParquetVotes(t *testing.T) {
	plain, named := votes.Options{Classes: 3}, votes.Options{ClassNames: diseases}
	want := opened(t, plain, []byte(text(",", "\n", number)))
	for name, opt := range map[string]votes.Options{
		"int64.parquet": plain, "int8.parquet": plain, "float32.parquet": plain, "int64.parquet.gz": plain,
		"words.parquet": named, "index.parquet": named, "counts.parquet": {Counts: true, Teachers: 4},
	} {
		s := opened(t, opt, ofPandas(t, name))
		requireMeant(t, s)
		if !opt.Counts {
			require.Equal(t, want.Hash(), s.Hash(), name)
		}
		require.Contains(t, []string{"Parquet", "gzip of Parquet"}, s.Kind())
	}
	m := loaded(t, plain, ofPandas(t, "missing.parquet"))
	require.Equal(t, []int{-1, 1}, []int{m.At(1, 2), m.At(1, 1)})
	m = loaded(t, votes.Options{Classes: 2}, ofPandas(t, "twoclass.parquet"))
	require.Equal(t, []int{0, 1}, []int{m.At(0, 0), m.At(0, 1)})
	m = loaded(t, votes.Options{ClassNames: []string{"True", "False"}}, ofPandas(t, "twoclass.parquet"))
	require.Equal(t, []int{1, 0}, []int{m.At(0, 0), m.At(0, 1)})
}

func TestDamagedParquetIsRefused(t *testing.T) {
	raw := ofPandas(t, "int64.parquet")
	_, err := votes.OpenIn(votes.Options{Classes: 3}, raw[:len(raw)-3])
	require.ErrorContains(t, err, "votes0: begins as Parquet")
	raw[5] ^= 0xff
	_, err = votes.OpenIn(votes.Options{Classes: 3}, raw)
	require.ErrorContains(t, err, "votes0: row group 0 column \"t0\"")
}

func packed(t testing.TB, raw []byte) (gz, zst []byte) {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(raw)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	enc, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return b.Bytes(), enc.EncodeAll(raw, nil)
}

// TestCompressedVotes: gzip and Zstandard, as a matrix or as files of one teacher, and what is too large
// when it is unpacked.
func TestCompressedVotes(t *testing.T) {
	for _, raw := range [][]byte{[]byte(text(";", "\n", number)), encodeNPY(1, "<i8", true, 5, 4, meantAt)} {
		gz, zst := packed(t, raw)
		for _, file := range [][]byte{gz, zst} {
			s := opened(t, votes.Options{Classes: 3}, file)
			requireMeant(t, s)
			_, err := votes.OpenIn(votes.Options{Classes: 3}, file[:len(file)-2])
			require.ErrorContains(t, err, "votes0: cannot be unpacked")
			_, err = votes.OpenFull(votes.Options{Classes: 3}, int64(len(raw)), file)
			require.NoError(t, err)
			_, err = votes.OpenFull(votes.Options{Classes: 3}, int64(len(raw))-1, file)
			require.ErrorContains(t, err, "unpacks to more than")
		}
	}
	var files [][]byte
	for teacher := range 4 {
		gz, zst := packed(t, encodeNPY(1, "|i1", false, 5, 1, func(r, _ int) int { return meant[r][teacher] }))
		files = append(files, [][]byte{gz, zst}[teacher%2])
	}
	s := opened(t, votes.Options{Classes: 3}, files...)
	requireMeant(t, s)
	require.Equal(t, "gzip of NPY of type i1", s.Kind())
}

// TestUnpackedVotesLeaveNoFile: what is unpacked has no name.
func TestUnpackedVotesLeaveNoFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s, err := votes.Open(context.Background(), []string{"testdata/parquet/words.parquet"}, votes.Options{ClassNames: diseases})
	require.NoError(t, err)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	requireMeant(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = votes.Open(ctx, []string{"testdata/parquet/words.parquet"}, votes.Options{ClassNames: diseases})
	require.ErrorIs(t, err, context.Canceled)
}
