package votes_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

// A spool is read as often as its votes are asked for, and nothing stays of it.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // of Windows
	ctx := context.Background()
	file := text(",", "\n", number)
	spool := testkit.Must(votes.NewSpool(ctx, io.MultiReader(strings.NewReader(file[:9]), strings.NewReader(file[9:])), int64(len(file))))
	left := testkit.Must(filepath.Glob(filepath.Join(dir, "*")))
	if runtime.GOOS == "windows" {
		require.Len(t, left, 1)
	} else {
		require.Empty(t, left, "it has no name")
	}
	opt := votes.Options{Classes: 3, Spool: spool}
	for range 2 {
		s := testkit.Must(votes.Open(ctx, []string{votes.Stdin}, opt))
		requireMeant(t, s)
		require.Equal(t, s.Hash(), testkit.Must(votes.Check(ctx, []string{votes.Stdin}, opt)).Hash)
	}
	require.ErrorContains(t, testkit.Err(votes.Open(ctx, []string{votes.Stdin, "other.csv"}, opt)), "give standard input alone")
	_, err := votes.Open(ctx, []string{votes.Stdin}, votes.Options{Classes: 3})
	require.ErrorContains(t, err, "no file has this name", "without a spool it is a file")
	require.NoError(t, spool.Close())
	require.Error(t, testkit.Err(votes.Open(ctx, []string{votes.Stdin}, opt)))
	require.Empty(t, testkit.Must(filepath.Glob(filepath.Join(dir, "*"))))
}

// What is too long, cannot be read or never ends is refused, and nothing stays of it.
func TestSpoolRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	require.ErrorContains(t, testkit.Err(votes.NewSpool(context.Background(), strings.NewReader("0,1,2\n"), 5)), "more than 5 bytes")
	broken, w := io.Pipe()
	require.NoError(t, w.CloseWithError(os.ErrPermission))
	require.ErrorIs(t, testkit.Err(votes.NewSpool(context.Background(), broken, 5)), os.ErrPermission)
	silent, w := io.Pipe()
	defer w.Close()
	require.ErrorIs(t, testkit.Err(votes.NewSpool(testkit.Ended(), silent, 5)), context.Canceled)
	require.Empty(t, testkit.Must(filepath.Glob(filepath.Join(dir, "*"))))
}

// What is written is read as the counts of the same queries, and by the same hash in both forms; the text
// is that of a database's export.
func TestCountsComeBack(t *testing.T) {
	ctx := context.Background()
	var file strings.Builder
	for q := range 300 {
		for k := range 40 {
			if k > 0 {
				file.WriteByte(',')
			}
			if (q+k)%7 > 0 {
				file.WriteString([]string{"0", "1", "2", "100"}[q*k%4])
			}
		}
		file.WriteByte('\n')
	}
	for _, classes := range []int{101, 300} { // bytes and words of votes
		s := opened(t, votes.Options{Classes: classes}, []byte(file.String()))
		var hashes [][32]byte
		for _, form := range []bool{false, true} {
			var b bytes.Buffer
			require.NoError(t, s.WriteCounts(ctx, &b, form))
			back := opened(t, votes.Options{Counts: true, Teachers: 40}, b.Bytes())
			require.Equal(t, classes, back.Classes())
			hashes = append(hashes, back.Hash())
			want := votesOf(t, s)
			require.Equal(t, want, votesOf(t, back))
			require.Positive(t, want[1][100])
		}
		require.Equal(t, hashes[0], hashes[1])
		part := testkit.Must(s.Part(10, 12))
		var b bytes.Buffer
		require.NoError(t, part.WriteCounts(ctx, &b, false))
		require.Equal(t, 2, strings.Count(b.String(), "\n"))
	}
}

// Ledgers and keys recorded these hashes.
func TestHashesStay(t *testing.T) {
	counts := opened(t, votes.Options{Counts: true, Teachers: 5}, []byte("1,2\n0,3\n")).Hash()
	require.Equal(t, "ffe8a45c38f15b6f", fmt.Sprintf("%x", counts[:8]))
	labels := opened(t, votes.Options{Classes: 3}, []byte("1,2\n0,\n")).Hash()
	require.Equal(t, "2b595508b3b7d6c1", fmt.Sprintf("%x", labels[:8]))
}

func votesOf(t require.TestingT, s *votes.Source) (out [][]int) {
	for b, err := range s.Histograms(context.Background()) {
		require.NoError(t, err)
		out = append(out, b.Histogram.Reveal())
	}
	return out
}

// TestCountsOfManyFiles: sums and rows are right over many blocks; a file that changes after it was checked
// is told, and so are too many.
func TestCountsOfManyFiles(t *testing.T) {
	const queries = 50_000
	dir, ctx := t.TempDir(), context.Background()
	pattern := filepath.Join(dir, "part-*.csv")
	opt := votes.Options{Counts: true, Teachers: 30}
	for k := range 3 {
		var text bytes.Buffer
		for q := range queries {
			fmt.Fprintf(&text, "%d,%d\n", (q+k)%7, k)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("part-%d.csv", k)), text.Bytes(), 0o600))
	}
	written := func(add bool) string {
		c := testkit.Must(votes.OpenCounts(ctx, []string{pattern}, opt, add))
		var out bytes.Buffer
		require.NoError(t, c.Write(ctx, &out, false))
		return out.String()
	}
	var added, appended bytes.Buffer
	for q := range queries {
		fmt.Fprintf(&added, "%d,3\n", q%7+(q+1)%7+(q+2)%7)
	}
	for k := range 3 {
		for q := range queries {
			fmt.Fprintf(&appended, "%d,%d\n", (q+k)%7, k)
		}
	}
	require.Equal(t, added.String(), written(true))
	require.Equal(t, appended.String(), written(false))

	for _, add := range []bool{true, false} {
		c := testkit.Must(votes.OpenCounts(ctx, []string{pattern}, opt, add))
		last := testkit.Must(os.OpenFile(filepath.Join(dir, "part-2.csv"), os.O_APPEND|os.O_WRONLY, 0))
		require.NoError(t, testkit.Err(last.WriteString("0,2\n")))
		require.NoError(t, last.Close())
		require.ErrorContains(t, c.Write(ctx, new(bytes.Buffer), true), "changed while it was in use")
		require.NoError(t, os.Truncate(last.Name(), 4*queries))
	}
	for k := range 65 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("small-%d.csv", k)), []byte("1,0\n"), 0o600))
	}
	require.ErrorContains(t, testkit.Err(votes.OpenCounts(ctx, []string{filepath.Join(dir, "small-*.csv")}, opt, true)), "65 files of counts are added up")
	require.ErrorContains(t, testkit.Err(votes.OpenCounts(ctx, []string{pattern}, votes.Options{Counts: true}, true)), "need Counts, Teachers")
}

// What pandas writes with its index is read as the same votes without, and what is no file has this name is refused.
func TestIndexColumn(t *testing.T) {
	plain := opened(t, votes.Options{Classes: 3}, []byte("0,1,2\n1,,0\n2,2,2\n"))
	for name, text := range map[string]string{
		"pandas":        ",ann,bob,eve\n0,0,1,2\n1,1,,0\n2,2,2,2\n",
		"named":         "index,ann,bob,eve\n17,0,1,2\n3,1,,0\nx,2,2,2\n",
		"no header":     "0,0,1,2\n1,1,,0\n2,2,2,2\n",
		"CR, BOM, tail": "\xef\xbb\xbf;ann;bob;eve\r\n\"a;b\";0;1;2\r\nb;1;;0\r\nc;2;2;2\r\n\r\n\n",
		"open end":      "0,0,1,2\n1,1,,0\n2,2,2,2",
		"missing":       "0,0.0,1.0,2\n1,1.0,,0\n2,2.0,2,2\n",
	} {
		s := opened(t, votes.Options{Classes: 3, IndexColumn: true}, []byte(text))
		require.Equal(t, plain.Hash(), s.Hash(), name)
		require.Contains(t, s.Kind(), "without column 1")
	}
	for name, text := range map[string]string{"one cell": "a\nb\n", "one cell later": "0,1\n1\n", "npy": "\x93NUMPY\x01\x00", "empty": ""} {
		require.Error(t, testkit.Err(votes.OpenIn(votes.Options{Classes: 3, IndexColumn: true}, []byte(text))), name)
	}
	_, err := votes.OpenIn(votes.Options{Classes: 3}, []byte(",ann,bob\n0,1,2\n1,2,0\n"))
	require.ErrorContains(t, err, `column 1 is named "", which means row numbers`)
}

// requireSameHistograms opens labels, teachers x queries, and counts, and demands that they agree.
func requireSameHistograms(t *testing.T, labels, counts string, classes int) {
	one := testkit.Must(votes.Open(context.Background(), []string{labels}, votes.Options{Classes: classes, Transpose: true}))
	other := testkit.Must(votes.Open(context.Background(), []string{counts}, votes.Options{Counts: true, Teachers: one.Teachers()}))
	require.Equal(t, one.Queries(), other.Queries())
	require.Equal(t, votesOf(t, other), votesOf(t, one))
	_, err := votes.Open(context.Background(), []string{labels}, votes.Options{Classes: classes - 1, Transpose: true})
	require.ErrorContains(t, err, "outside the classes")
}

// TestRealVotes reads votes that NumPy wrote.
func TestRealVotes(t *testing.T) {
	requireSameHistograms(t, filepath.Join("testdata", "mnist_labels.npy"), filepath.Join("testdata", "mnist_counts.csv"), 10)
}

// fuzzOptions turns what a fuzzer draws into options.
func fuzzOptions(classes int, flags byte) votes.Options {
	opt := votes.Options{Classes: classes, Counts: flags&1 != 0, Transpose: flags&2 != 0}
	switch flags >> 2 & 3 {
	case 1:
		opt.Header = votes.HeaderYes
	case 2:
		opt.Header = votes.HeaderNo
	}
	if flags&32 != 0 && !opt.Counts {
		opt.Classes, opt.ClassNames = 0, []string{"flu", "-1", "é"}
	}
	if flags&64 != 0 && !opt.Counts {
		opt.FirstClass = 1
	}
	opt.IndexColumn = flags&128 != 0
	return opt
}

// requireSound reads a file, however foul, and demands that what is accepted is as large as the file at
// most, adds up, and is what a check finds sound.
func requireSound(t *testing.T, file []byte, classes int, flags byte) {
	opt := fuzzOptions(classes, flags)
	files := [][]byte{file}
	if flags&16 != 0 && !opt.Counts {
		files = append(files, file)
	}
	report, reportErr := votes.CheckIn(opt, files...)
	s, err := votes.OpenIn(opt, files...)
	if reportErr != nil {
		require.Error(t, err)
		return
	}
	report.Findings()
	require.Equal(t, report.FirstInvalid == nil, err == nil, "%v, %v", report.FirstInvalid, err)
	if err != nil {
		require.Equal(t, report.FirstInvalid.Error(), err.Error())
		return
	}
	require.Equal(t, report.Hash, s.Hash())
	switch {
	case votes.Packed(file): // as large as it unpacks to
	case opt.Counts:
		require.LessOrEqual(t, s.Queries()*s.Classes(), len(file)+1)
	default:
		require.LessOrEqual(t, s.Queries()*s.Teachers(), len(files)*(len(file)+1))
	}
	asked, votes := 0, int64(0)
	for b, err := range s.Histograms(context.Background()) {
		require.NoError(t, err)
		require.Equal(t, asked, b.Query)
		for _, n := range b.Histogram.Reveal() {
			votes += int64(n)
		}
		asked++
	}
	require.Equal(t, s.Queries(), asked)
	for _, n := range report.ClassVotes {
		votes -= n
	}
	require.Zero(t, votes)
}

func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"0,1,2\n1,,-1\n", "a;b\n0;\"1\"\n", "0\t1\r\n\t2.0\r\n", "1\n\n0", "\xef\xbb\xbf0,1\n", "5,6\n7,8\n", "0,nan\n1e3, 1.5\n", "flu,-1\né,\"flu\"\n", "0 1\n1 2\n", "[[0]]", "0,1\r1,2\r", "0,1,2\n1,0,0\n2,0,9\n"} {
		for flags := range byte(128) {
			f.Add([]byte(seed), 3, flags)
		}
		f.Add([]byte(seed), 3, byte(128))
	}
	f.Fuzz(requireSound)
}

func FuzzUnpacked(f *testing.F) {
	for i, name := range []string{"int8", "float32", "words", "counts", "missing", "twoclass", "long"} {
		f.Add(ofPandas(f, name+".parquet"), 3, byte(1<<i))
	}
	f.Add(ofPandas(f, "int64.parquet.gz"), 3, byte(0))
	gz, zst := packed([]byte("0,1,2\n1,,-1\n"))
	f.Add(gz, 3, byte(0))
	f.Add(zst, 3, byte(16))
	f.Fuzz(func(t *testing.T, file []byte, classes int, flags byte) {
		if !votes.Packed(file) {
			return
		}
		requireSound(t, file, classes, flags)
	})
}

func FuzzNPY(f *testing.F) {
	at := func(r, c int) int { return (r + c) % 3 }
	for i, typ := range npyTypes {
		f.Add(encodeNPY(byte(1+i%3), typ, i%2 == 0, 2, 3, at), 3, byte(i))
		f.Add(encodeNPY(1, typ, false, 3, 1, at), 200, byte(16+i))
	}
	f.Add(npy(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (3,), }", []byte{0, 1, 2}), 3, byte(16))
	for i, typ := range []string{"<U3", ">U1", "|S3", "|S1", "<U0", "|S1025", "|O"} {
		f.Add(npy(1, "{'descr': '"+typ+"', 'fortran_order': False, 'shape': (1, 2), }", make([]byte, []int{24, 8, 6, 2, 0, 2050, 16}[i])), 3, byte(32+i))
	}
	f.Add(npyFloats("1, 2, 3", 0, 1, 0, 1, 0, 0), 3, byte(0))
	f.Fuzz(func(t *testing.T, file []byte, classes int, flags byte) {
		const magic = "\x93NUMPY"
		if len(file) < len(magic) {
			file = append([]byte(magic), file...)
		} else {
			file = append([]byte(magic), file[len(magic):]...)
		}
		requireSound(t, file, classes, flags)
	})
}

// element encodes a whole number as an element of an NPY type.
func element(buf []byte, typ string, v int) []byte {
	var order interface {
		binary.ByteOrder
		binary.AppendByteOrder
	} = binary.LittleEndian
	if typ[0] == '>' {
		order = binary.BigEndian
	}
	switch typ[1:] {
	case "i1", "u1", "b1":
		return append(buf, byte(v))
	case "i2", "u2":
		return order.AppendUint16(buf, uint16(v))
	case "i4", "u4":
		return order.AppendUint32(buf, uint32(v))
	case "i8", "u8":
		return order.AppendUint64(buf, uint64(v))
	case "f2":
		return order.AppendUint16(buf, half(v))
	case "f4":
		return order.AppendUint32(buf, math.Float32bits(float32(v)))
	case "f8":
		return order.AppendUint64(buf, math.Float64bits(float64(v)))
	}
	panic(typ)
}

// half is a whole number below 2048 in 16 bits, found by trying all exponents.
func half(v int) uint16 {
	sign := uint16(0)
	if v < 0 {
		sign, v = 0x8000, -v
	}
	if v == 0 {
		return sign
	}
	exp := 0
	for v>>(exp+1) > 0 {
		exp++
	}
	return sign | uint16(exp+15)<<10 | uint16(v<<(10-exp)&0x3ff)
}

// encodeNPY writes a matrix as NumPy would.
func encodeNPY(version byte, typ string, fortran bool, rows, cols int, at func(row, col int) int) []byte {
	var data []byte
	order := "False"
	if fortran {
		order = "True"
		for c := range cols {
			for r := range rows {
				data = element(data, typ, at(r, c))
			}
		}
	} else {
		for r := range rows {
			for c := range cols {
				data = element(data, typ, at(r, c))
			}
		}
	}
	return npy(version, fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }\n", typ, order, rows, cols), data)
}

// encodeCSV writes a matrix with a cell in one of the forms that are read.
func encodeCSV(sep, newline string, header bool, rows, cols int, cell func(row, col int) string) []byte {
	var b strings.Builder
	if header {
		for c := range cols {
			if c > 0 {
				b.WriteString(sep)
			}
			fmt.Fprintf(&b, `"teacher%s %d"`, sep, c)
		}
		b.WriteString(newline)
	}
	for r := range rows {
		for c := range cols {
			if c > 0 {
				b.WriteString(sep)
			}
			b.WriteString(cell(r, c))
		}
		b.WriteString(newline)
	}
	return []byte(b.String())
}

var npyTypes = []string{"|i1", "|u1", "|b1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"}

// agreeingVotes are labels of teachers who mostly agree, as good ones do, in cells of one byte.
func agreeingVotes(queries, count, classes int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	cells := make([]byte, 0, queries*count)
	for range queries {
		class := rnd.IntN(classes)
		for range count {
			vote := class
			if rnd.IntN(10) == 0 {
				vote = rnd.IntN(classes)
			}
			cells = append(cells, byte(vote))
		}
	}
	return cells
}
