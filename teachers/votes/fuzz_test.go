package votes_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/teachers/votes"
)

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
