package votes_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/teachers/votes"
)

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

// TestVotesAreTheSameFromEveryFormat writes one matrix in a drawn format and
// demands the hash and the histograms of the matrix itself.
func TestVotesAreTheSameFromEveryFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.SampledFrom([]int{2, 10, 127, 128, 300, 2000}).Draw(t, "classes")
		typ := rapid.SampledFrom(append(npyTypes, "csv")).Draw(t, "type")
		lowest := votes.Abstention
		switch typ[1] {
		case 'u', 'b':
			lowest = 0
		}
		highest := classes
		switch typ[1:] {
		case "b1":
			highest = 2
		case "i1":
			highest = min(highest, 128)
		case "u1":
			highest = min(highest, 256)
		}
		queries, count := rapid.IntRange(1, 40).Draw(t, "queries"), rapid.IntRange(1, 40).Draw(t, "teachers")
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		want, err := votes.New(queries, count, classes)
		require.NoError(t, err)
		for q := range queries {
			for c := range count {
				require.NoError(t, want.Set(q, c, lowest+rnd.IntN(highest-lowest)))
			}
		}
		opt := votes.Options{Classes: classes, Transpose: rapid.Bool().Draw(t, "transpose")}
		rows, cols, at := queries, count, want.At
		if opt.Transpose {
			rows, cols, at = count, queries, func(r, c int) int { return want.At(c, r) }
		}
		var file []byte
		if typ == "csv" {
			opt.Header = votes.HeaderNo
			header := rapid.Bool().Draw(t, "header")
			if header {
				opt.Header = rapid.SampledFrom([]votes.Header{votes.HeaderYes, votes.HeaderAuto}).Draw(t, "how")
			}
			newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
			file = encodeCSV(rapid.SampledFrom([]string{",", ";", "\t"}).Draw(t, "separator"), newline, header, rows, cols, func(r, c int) string {
				forms := []string{"%d", " %d ", `"%d"`, "%d.0", "%de0", "0%d"}
				if at(r, c) == votes.Abstention {
					forms = []string{"%d", "%.0d", "%d.0", `"%d"`}
					if v := rnd.IntN(3); v > 0 {
						return []string{"", "", `""`}[v]
					}
				}
				if cols == 1 && c == 0 && rnd.IntN(2) == 0 {
					return fmt.Sprint(at(r, c))
				}
				return fmt.Sprintf(forms[rnd.IntN(len(forms))], at(r, c))
			})
			if cols > 1 && rapid.Bool().Draw(t, "cut") { // no line break at the end
				file = file[:len(file)-len(newline)]
			}
		} else {
			file = encodeNPY(byte(rapid.IntRange(1, 3).Draw(t, "version")), typ, rapid.Bool().Draw(t, "fortran"), rows, cols, at)
		}
		s, err := votes.OpenIn(opt, file)
		require.NoError(t, err, "%s %q", typ, file)
		require.Equal(t, []int{queries, count, classes}, []int{s.Queries(), s.Teachers(), s.Classes()})
		require.Equal(t, want.Hash(), s.Hash())
		requireHistograms(t, want, s)
		from := rapid.IntRange(0, queries-1).Draw(t, "from")
		opt.From, opt.To = from, rapid.IntRange(from+1, queries).Draw(t, "to")
		part, err := votes.OpenIn(opt, file)
		require.NoError(t, err)
		require.Equal(t, want.Hash(), part.Hash(), "the hash is of the whole")
		requireHistograms(t, want, part)
		back, err := s.Load(context.Background())
		require.NoError(t, err)
		require.Equal(t, want.Hash(), back.Hash())
	})
}

func requireHistograms(t require.TestingT, want *votes.Matrix, s *votes.Source) {
	query, to := s.Range()
	for b, err := range s.Histograms(context.Background()) {
		require.NoError(t, err)
		require.Equal(t, query, b.Query)
		h, err := want.Histogram(query)
		require.NoError(t, err)
		require.Equal(t, h.Reveal(), b.Histogram.Reveal())
		query++
	}
	require.Equal(t, to, query)
}

func TestCountsAreTheSameFromEveryFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queries, classes := rapid.IntRange(1, 30).Draw(t, "queries"), rapid.IntRange(2, 30).Draw(t, "classes")
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		counts := make([]int, queries*classes)
		for i := range counts {
			counts[i] = rnd.IntN(2) * rnd.IntN(120)
		}
		opt := votes.Options{Counts: true, Transpose: rapid.Bool().Draw(t, "transpose"), Teachers: classes * 120}
		if rapid.Bool().Draw(t, "stated") {
			opt.Classes = classes
		}
		rows, cols, at := queries, classes, func(r, c int) int { return counts[r*classes+c] }
		if opt.Transpose {
			rows, cols, at = classes, queries, func(r, c int) int { return counts[c*classes+r] }
		}
		opt.Header = votes.HeaderNo
		one, err := votes.OpenIn(opt, encodeCSV(",", "\n", false, rows, cols, func(r, c int) string { return fmt.Sprint(at(r, c)) }))
		require.NoError(t, err)
		other, err := votes.OpenIn(opt, encodeNPY(1, rapid.SampledFrom(slices.DeleteFunc(slices.Clone(npyTypes), func(s string) bool { return s == "|b1" })).Draw(t, "type"), rapid.Bool().Draw(t, "fortran"), rows, cols, at))
		require.NoError(t, err)
		require.Equal(t, one.Hash(), other.Hash())
		for _, s := range []*votes.Source{one, other} {
			require.True(t, s.Counts())
			q := 0
			for b, err := range s.Histograms(context.Background()) {
				require.NoError(t, err)
				require.Equal(t, counts[q*classes:(q+1)*classes], b.Histogram.Reveal())
				q++
			}
			require.Equal(t, queries, q)
			_, err := s.Load(context.Background())
			require.Error(t, err)
		}
	})
}

// TestTilesJoin reads columns that do not fit into one tile, of all widths of
// cells and from text too.
func TestTilesJoin(t *testing.T) {
	const queries, count = 301, 7
	cells := agreeingVotes(queries, count, 10)
	at := func(q, c int) int { return int(cells[q*count+c]) }
	for _, classes := range []int{10, 200} {
		want, err := votes.OpenIn(votes.Options{Classes: classes}, encodeNPY(1, "|i1", false, queries, count, at))
		require.NoError(t, err)
		all, err := want.Load(context.Background())
		require.NoError(t, err)
		for _, tile := range []int{1, 7, 100, 64 * 7, 1000, 1 << 20} {
			for _, from := range []int{0, 5, 200} {
				opt := votes.Options{Classes: classes, From: from, To: 250}
				s, err := votes.OpenInTiles(opt, tile, encodeNPY(1, "<i4", true, queries, count, at))
				require.NoError(t, err)
				require.Equal(t, want.Hash(), s.Hash())
				requireHistograms(t, all, s)
				opt.Transpose = true
				s, err = votes.OpenInTiles(opt, tile, encodeCSV(",", "\n", false, count, queries, func(r, c int) string { return fmt.Sprint(at(c, r)) }))
				require.NoError(t, err)
				require.Equal(t, want.Hash(), s.Hash())
				requireHistograms(t, all, s)
			}
		}
	}
}

func TestOneFileForEachTeacher(t *testing.T) {
	dir := t.TempDir()
	want, err := votes.New(3, 4, 5)
	require.NoError(t, err)
	for i, v := range []int{0, 4, -1, 2, 1, 4, 3, -1, 2, 2, 2, 2} {
		require.NoError(t, want.Set(i/4, i%4, v))
	}
	vector := func(typ, shape string, teacher int) []byte {
		var data []byte
		for q := range 3 {
			data = element(data, typ, want.At(q, teacher))
		}
		return npy(1, "{'descr': '"+typ+"', 'fortran_order': False, 'shape': "+shape+"}", data)
	}
	for name, file := range map[string][]byte{
		"t0.npy": vector("|i1", "(3,)", 0),
		"t1.npy": vector(">f4", "(3, 1)", 1),
		"t2.csv": []byte("votes\n\n3\n2\n"),
		"t3.csv": []byte("2\n-1\n2"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), file, 0o600))
	}
	pattern := filepath.Join(dir, "t*")
	open := func(paths ...string) (*votes.Source, error) {
		return votes.Open(context.Background(), paths, votes.Options{Classes: 5})
	}
	s, err := open(pattern)
	require.NoError(t, err)
	require.Equal(t, want.Hash(), s.Hash())
	requireHistograms(t, want, s)
	// Whatever their order, files are sorted.
	s, err = open(filepath.Join(dir, "t3.csv"), filepath.Join(dir, "t0.npy"), filepath.Join(dir, "t2.csv"), filepath.Join(dir, "t1.npy"))
	require.NoError(t, err)
	require.Equal(t, want.Hash(), s.Hash())
	_, err = open(filepath.Join(dir, "t0.npy"), pattern)
	require.ErrorContains(t, err, "named twice")
	_, err = open(filepath.Join(dir, "nothing*"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = open(dir)
	require.ErrorContains(t, err, "regular file")
	_, err = open()
	require.Error(t, err)
	_, err = votes.Open(context.Background(), []string{pattern}, votes.Options{Counts: true})
	require.Error(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "t3.csv"), []byte("2\n-1\n"), 0o600))
	_, err = open(pattern)
	require.ErrorContains(t, err, "has 2 labels")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "t3.csv"), []byte("2\n-1\n7\n"), 0o600))
	_, err = open(pattern)
	require.ErrorContains(t, err, "t3.csv: row 3, column 1 holds a vote outside the classes")
}

func TestWhatIsWrongWithAFileIsSaid(t *testing.T) {
	square := func(typ string, data ...byte) []byte {
		return npy(1, "{'descr': '"+typ+"', 'fortran_order': False, 'shape': (2, 2), }", data)
	}
	float := func(v ...float64) []byte {
		var b []byte
		for _, x := range v {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		return square("<f8", b...)
	}
	labels := votes.Options{Classes: 3}
	counts := votes.Options{Counts: true, Teachers: 9}
	for name, c := range map[string]struct {
		opt  votes.Options
		file []byte
		want string
	}{
		"short row":          {labels, []byte("0,1,2\n0,1\n0,1,2\n"), "row 2 has 2 labels, the other rows have 3; each row is a query, each column a teacher; a missing vote is an empty cell; fix the row"},
		"long row":           {labels, []byte("a,b,c\n0,1,2\n0,1,2,0,1\n0,1,2\n"), "row 3 has 5 labels, the other rows have 3"},
		"short last row":     {labels, []byte("0,1,2\n0,1"), "row 2 has 2 labels, the other rows have 3"},
		"odd first row":      {labels, []byte("0,1\n0,1,2\n0,1,2\n"), "row 1 has 2 labels, the other rows have 3"},
		"blank row":          {labels, []byte("0,1,2\n\n0,1,2\n"), "row 2 is blank"},
		"odd counts":         {counts, []byte("0,1,2\n0,1,2\n1\n"), "row 3 has 1 count, the other rows have 3; each row is a query, each column a class"},
		"odd transposed":     {votes.Options{Classes: 3, Transpose: true}, []byte("0,1,2\n0,1,2\n1\n"), "row 3 has 1 label, the other rows have 3; transposed, each row is a teacher"},
		"wrong header":       {labels, []byte("q,a,b\n0,1\n"), "has 3 names in its header and 2 cells in row 2"},
		"row numbers":        {labels, []byte(",a,b\n0,1,1\n1,1,0\n"), `column 1 is named "": row numbers, no votes`},
		"query numbers":      {labels, []byte("Query,label\n0,1\n1,1\n"), `column 1 is named "query": row numbers, no votes`},
		"numbered header":    {labels, []byte("0,1,2,3,4\n2,1,0,0,0\n"), "row 1 is 0, 1, 2, ...: column numbers or votes"},
		"a word among votes": {labels, []byte("0,NA,2,1\n2,1,0,0\n"), "row 1 has numbers and words: a header or votes"},
		"a mark among votes": {labels, []byte("0,1,2,?\n2,1,0,0\n"), "say --header yes or --header no"},
		"header and number":  {labels, []byte("a,b,,3\n2,1,0,0\n"), "row 1 has numbers and words"},
		"header alone":       {labels, []byte("a,b\n"), "has no votes"},
		"empty":              {labels, nil, "is empty"},
		"text":               {labels, []byte("0,1\n0,cat\n"), "row 2, column 2 holds no number; classes are 0 to 2, and -1 is a missing vote"},
		"hexadecimal":        {labels, []byte("0,1\n0,0x1\n"), "holds no number"},
		"infinite text":      {labels, []byte("0,1\n0,inf\n"), "holds a number that is not whole"},
		"NaN text":           {labels, []byte("0,1\n0,nan\n"), "row 2, column 2 holds NaN"},
		"fraction":           {labels, []byte("0,1\n0,1.5\n"), "row 2, column 2 holds a number that is not whole"},
		"beyond":             {labels, []byte("0,1\n3,1\n"), "row 2, column 1 holds a vote outside the classes"},
		"far beyond":         {labels, []byte("0,1\n1e999,1\n"), "row 2, column 1 holds a vote outside the classes"},
		"below":              {labels, []byte("0,1\n-2,1\n"), "row 2, column 1 holds a vote outside the classes"},
		"long cell":          {labels, []byte("0,1\n" + strings.Repeat("1", 5000) + ",1\n"), "a cell of more than 4096 bytes"},
		"open quote":         {labels, []byte("0,1\n\"1,1\n1,1\n"), "row 2 has 1 label"},
		"negative count":     {counts, []byte("1,1\n-1,1\n"), "row 2, column 1 holds a count outside the range"},
		"missing count":      {counts, []byte("1,1\n1,\n"), "row 2, column 2 holds no number"},
		"too many votes":     {counts, []byte("1,1\n5,5\n"), "the counts of query 1 (from 0) add up to more than the 9 teachers"},
		"one class":          {counts, []byte("1\n2\n"), "has 1 classes"},
		"other classes":      {votes.Options{Counts: true, Classes: 3}, []byte("1,1\n"), "has 2 counts for each query, there are 3 classes"},
		"other teachers":     {votes.Options{Classes: 3, Teachers: 5}, []byte("1,1\n"), "has 2 teachers, 5 were expected"},
		"npy beyond":         {labels, square("|u1", 0, 1, 255, 0), "element [1, 0] holds a vote outside the classes"},
		"npy transposed":     {votes.Options{Classes: 3, Transpose: true}, square("|i1", 0, 1, 1, 9), "element [1, 1] holds"},
		"npy boolean":        {labels, square("|b1", 0, 1, 2, 0), "element [1, 0] holds a vote outside the classes"},
		"npy minus as u8":    {labels, square("<u8", slices.Repeat([]byte{255}, 32)...), "element [0, 0] holds a vote outside the classes"},
		"npy NaN":            {labels, float(0, 1, math.NaN(), 0), "element [1, 0] holds NaN"},
		"npy infinity":       {labels, float(0, 1, math.Inf(1), 0), "element [1, 0] holds a number that is not whole"},
		"npy fraction":       {labels, float(0, -.5, 0, 0), "element [0, 1] holds a number that is not whole"},
		"npy large float":    {labels, float(0, 1e300, 0, 0), "element [0, 1] holds a vote outside the classes"},
		"npy cut off":        {labels, square("|i1", 0, 1, 1), "is not as long as its header says"},
		"npy goes on":        {labels, square("|i1", 0, 1, 1, 1, 1), "is not as long as its header says"},
		"npy type":           {labels, square("<c8", 0, 1, 1, 1, 1), `holds NPY type "<c8"`},
		"npy native order":   {labels, square("=i4", 0, 1, 1, 1, 1), `holds NPY type "=i4"`},
		"npy vector":         {labels, npy(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (2,)}", []byte{0, 1}), "holds an array of 1 dimensions"},
		"npy overflow":       {labels, npy(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807)}", nil), "is not as long as its header says"},
		"npz":                {labels, []byte("PK\x03\x04..."), "is a zip archive"},
		"gzip":               {labels, []byte("\x1f\x8b..."), "cannot be unpacked (gzip)"},
		"UTF-16":             {labels, []byte("\xff\xfe1\x00"), "is UTF-16"},
		"binary":             {labels, []byte("1\x00"), "is neither text nor NPY"},
		"range":              {votes.Options{Classes: 3, From: 1, To: 4}, []byte("1,1\n1,1\n"), "has 2 queries, 1:4 were asked for"},
		"range from the end": {votes.Options{Classes: 3, From: 3}, []byte("1,1\n1,1\n"), "has 2 queries, 3:2 were asked for"},
	} {
		_, err := votes.OpenIn(c.opt, c.file)
		require.ErrorContains(t, err, c.want, name)
		var typed *votes.Error
		require.ErrorAs(t, err, &typed, name)
	}
	for _, opt := range []votes.Options{
		{}, {Classes: 1}, {Classes: votes.MaxClasses + 1}, {Classes: 2, Teachers: -1}, {Classes: 2, From: -1}, {Classes: 2, From: 2, To: 2}, {Classes: 2, Header: "perhaps"},
	} {
		_, err := votes.OpenIn(opt, []byte("1,1\n"))
		require.Error(t, err)
	}
}

// TestErrorsDoNotQuoteVotes: a message may go to a log.
func TestErrorsDoNotQuoteVotes(t *testing.T) {
	for _, file := range []string{"0,1\n0,7788\n", "0,1\n0,secret\n", "0,1\n0,1.7788\n"} {
		_, err := votes.OpenIn(votes.Options{Classes: 3}, []byte(file))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "7788")
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestAFileThatChangesIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.csv")
	require.NoError(t, os.WriteFile(path, []byte("0,1\n1,1\n"), 0o600))
	s, err := votes.Open(context.Background(), []string{path}, votes.Options{Classes: 2})
	require.NoError(t, err)
	for change, do := range map[string]func() error{
		"content": func() error {
			if err := os.WriteFile(path, []byte("0,1\n1,0\n"), 0o600); err != nil {
				return err
			}
			return os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour))
		},
		"length": func() error { return os.WriteFile(path, []byte("0,1\n1,1\n1,1\n"), 0o600) },
		"gone":   func() error { return os.Remove(path) },
	} {
		require.NoError(t, do(), change)
		var last error
		for _, err := range s.Histograms(context.Background()) {
			last = err
		}
		require.Error(t, last, change)
	}
}

func TestReadingStopsWhenAsked(t *testing.T) {
	s, err := votes.OpenIn(votes.Options{Classes: 2}, []byte("0,1\n1,1\n0,0\n"))
	require.NoError(t, err)
	n := 0
	for range s.Histograms(context.Background()) {
		n++
		break
	}
	require.Equal(t, 1, n)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range s.Histograms(ctx) {
		require.ErrorIs(t, err, context.Canceled)
	}
	_, err = s.Load(ctx)
	require.True(t, errors.Is(err, context.Canceled))
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %d", s, s, s, s), "hash")
}

// TestHeadersAreNotBelieved: a file of 1 KB that claims 10^12 queries, in each of
// the ways, costs next to no memory.
func TestHeadersAreNotBelieved(t *testing.T) {
	for _, typ := range []string{"|i1", "<f8"} {
		for _, fortran := range []string{"True", "False"} {
			for _, shape := range []string{"(1000000000000, 250)", "(250, 1000000000000)", "(1000000000000,)", "(1048576, 1000000000000)"} {
				for _, transpose := range []bool{true, false} {
					file := npy(1, "{'descr': '"+typ+"', 'fortran_order': "+fortran+", 'shape': "+shape+", }\n", make([]byte, 1000))
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					_, err := votes.OpenIn(votes.Options{Classes: 10, Transpose: transpose}, file)
					runtime.ReadMemStats(&after)
					require.Error(t, err)
					require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<18))
				}
			}
		}
	}
}

// A first row of words and numbers is what somebody says it is: a header, which is no
// query, or votes, one of which is none.
func TestMixedFirstRowIsWhatIsSaid(t *testing.T) {
	file := []byte("0,NA,2,1\n2,1,0,0\n")
	s, err := votes.OpenIn(votes.Options{Classes: 3, Header: votes.HeaderYes}, file)
	require.NoError(t, err)
	require.Equal(t, 1, s.Total())
	_, err = votes.OpenIn(votes.Options{Classes: 3, Header: votes.HeaderNo}, file)
	require.ErrorContains(t, err, "row 1")
}
