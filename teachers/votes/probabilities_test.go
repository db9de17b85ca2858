package votes_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/parquet"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

// shareOf is a probability by which the teachers of meant vote as they do there.
func shareOf(query, teacher, class int) float64 {
	if meant[query][teacher] == class {
		return 0.5
	}
	return 0.25
}

// cube writes an array of 3 dimensions, whose element [a, b, c] at returns.
func cube(typ string, fortran bool, a, b, c int, at func(a, b, c int) float64) []byte {
	n := a * b * c
	values := make([]float64, n)
	for i := range a {
		for j := range b {
			for k := range c {
				place := (i*b+j)*c + k
				if fortran {
					place = (k*b+j)*a + i
				}
				values[place] = at(i, j, k)
			}
		}
	}
	var data []byte
	for _, v := range values {
		switch typ {
		case "<f2":
			data = binary.LittleEndian.AppendUint16(data, map[float64]uint16{0.5: 0x3800, 0.25: 0x3400}[v])
		case ">f4":
			data = binary.BigEndian.AppendUint32(data, math.Float32bits(float32(v)))
		case "<f8":
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		case "|i1":
			data = append(data, byte(v))
		}
	}
	order := map[bool]string{false: "False", true: "True"}[fortran]
	return npy(1, fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d, %d), }\n", typ, order, a, b, c), data)
}

func shareText(header string, teacher int) string {
	text := header
	for q := range meant {
		text += fmt.Sprintf("%g,%g,%g\n", shareOf(q, teacher, 0), shareOf(q, teacher, 1), shareOf(q, teacher, 2))
	}
	return text
}

// TestProbabilities: whatever holds them, they mean the votes of the largest.
func TestProbabilities(t *testing.T) {
	queries, teachers := len(meant), len(meant[0])
	opt := votes.Options{Classes: 3, Probabilities: true}
	turned := opt
	turned.Transpose = true
	want := opened(t, votes.Options{Classes: 3}, []byte(text(",", "\n", number)))
	same := func(kind string, opt votes.Options, files ...[]byte) {
		t.Helper()
		s := opened(t, opt, files...)
		requireMeant(t, s)
		require.Equal(t, want.Hash(), s.Hash())
		require.Equal(t, kind+", class probabilities", s.Kind())
	}
	for typ, kind := range map[string]string{"<f2": "NPY of type f2", ">f4": "NPY of type f4", "<f8": "NPY of type f8"} {
		for _, fortran := range []bool{false, true} {
			same(kind, opt, cube(typ, fortran, queries, teachers, 3, shareOf))
			same(kind, turned, cube(typ, fortran, teachers, queries, 3, func(a, b, c int) float64 { return shareOf(b, a, c) }))
		}
	}
	sure := func(q, t, c int) float64 { return math.Floor(2 * shareOf(q, t, c)) }
	same("NPY of type i1", opt, cube("|i1", false, queries, teachers, 3, sure))

	perTeacher := func(of func(teacher int) []byte) (files [][]byte) {
		for teacher := range teachers {
			files = append(files, of(teacher))
		}
		return files
	}
	same("CSV", opt, perTeacher(func(k int) []byte { return []byte(shareText("", k)) })...)
	same("CSV with a header", opt, perTeacher(func(k int) []byte { return []byte(shareText("p0,p1,p2\n", k)) })...)
	same("NPY of type f8", opt, perTeacher(func(k int) []byte {
		var values []float64
		for q := range queries {
			values = append(values, shareOf(q, k, 0), shareOf(q, k, 1), shareOf(q, k, 2))
		}
		return npyFloats(fmt.Sprintf("%d, 3", queries), values...)
	})...)
	same("NPY of type f8", turned, perTeacher(func(k int) []byte {
		var values []float64
		for c := range 3 {
			for q := range queries {
				values = append(values, shareOf(q, k, c))
			}
		}
		return npyFloats(fmt.Sprintf("3, %d", queries), values...)
	})...)
	same("gzip of CSV", opt, perTeacher(func(k int) []byte {
		gz, _ := packed([]byte(shareText("", k)))
		return gz
	})...)
	indexed := opt
	indexed.IndexColumn = true
	same("CSV with a header, without column 1", indexed, perTeacher(func(k int) []byte {
		lines := strings.SplitAfter(shareText("a,b,c\n", k), "\n")
		return []byte("," + strings.Join(lines[:len(lines)-1], "9,"))
	})...)
	table := func(k int, names ...string) []byte {
		columns := make([]parquet.Values, 3)
		for c := range columns {
			columns[c].Name = names[c]
			for q := range queries {
				columns[c].Texts = append(columns[c].Texts, fmt.Sprint(shareOf(q, k, c)))
			}
		}
		var b bytes.Buffer
		require.NoError(t, parquet.Write(&b, columns))
		return b.Bytes()
	}
	named := votes.Options{ClassNames: diseases, Probabilities: true}
	same("Parquet", named, perTeacher(func(k int) []byte { return table(k, diseases...) })...)
	same("CSV with a header", named, perTeacher(func(k int) []byte { return []byte(shareText(strings.Join(diseases, ",")+"\n", k)) })...)

	// Columns in another order would be other votes.
	for _, files := range [][][]byte{
		perTeacher(func(k int) []byte { return table(k, diseases[1], diseases[0], diseases[2]) }),
		perTeacher(func(k int) []byte { return []byte(shareText("x,"+diseases[2]+",y\n", k)) }),
	} {
		require.ErrorContains(t, testkit.Err(votes.OpenIn(named, files...)), "for column ")
	}
	// 0,1 adds up to 1, and is what pandas writes above the columns of two classes.
	two := []byte("0,1\n0.5,0.5\n")
	require.ErrorContains(t, testkit.Err(votes.OpenIn(votes.Options{Classes: 2, Probabilities: true}, two, two)), "row 1 is 0, 1, 2, ...")
	require.Equal(t, 1, opened(t, votes.Options{Classes: 2, Probabilities: true, Header: votes.HeaderYes}, two, two).Queries())
}

// TestEqualProbabilities: the lowest class of equals, however close the others come.
func TestEqualProbabilities(t *testing.T) {
	rows := [][]float64{{.25, .25, .25, .25}, {.2, .3, .3, .2}, {.1, .2, .3, .4}, {0, 0, 1, 0}, {math.Copysign(0, -1), 0, .5, .5}, {.5 - 1e-16, .5, 0, 0}}
	want := []int{0, 1, 3, 2, 2, 1}
	file := cube("<f8", false, len(rows), 1, 4, func(a, _, c int) float64 { return rows[a][c] })
	m := loaded(t, votes.Options{Classes: 4, Probabilities: true}, file)
	for q, class := range want {
		require.Equal(t, class, m.At(q, 0), q)
	}
}

func opened(t require.TestingT, opt votes.Options, files ...[]byte) *votes.Source {
	return testkit.Must(votes.OpenIn(opt, files...))
}

func loaded(t require.TestingT, opt votes.Options, files ...[]byte) *votes.Matrix {
	return testkit.Must(opened(t, opt, files...).Load(context.Background()))
}

// TestProbabilitiesOfOneTeacher: what one teacher says moves no vote of another, and its own are those of
// the largest, in files of more classes than a byte has room for too.
func TestProbabilitiesOfOneTeacher(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.SampledFrom([]int{2, 3, 127, 128, 300}).Draw(t, "classes")
		queries, teachers := rapid.IntRange(1, 5).Draw(t, "queries"), rapid.IntRange(1, 4).Draw(t, "teachers")
		fortran, turned := rapid.Bool().Draw(t, "fortran"), rapid.Bool().Draw(t, "transpose")
		top := func(label string) []int {
			return rapid.SliceOfN(rapid.IntRange(0, classes-1), queries*teachers, queries*teachers).Draw(t, label)
		}
		write := func(top []int) []byte {
			at := func(q, k, c int) float64 {
				if top[q*teachers+k] == c {
					return 1 - 1e-3*float64(classes-1)
				}
				return 1e-3
			}
			if turned {
				return cube("<f8", fortran, teachers, queries, classes, func(a, b, c int) float64 { return at(b, a, c) })
			}
			return cube("<f8", fortran, queries, teachers, classes, at)
		}
		opt := votes.Options{Classes: classes, Probabilities: true, Transpose: turned}
		first, other := top("first"), top("other")
		one := rapid.IntRange(0, teachers-1).Draw(t, "one")
		changed := slices.Clone(first)
		for q := range queries {
			changed[q*teachers+one] = other[q*teachers+one]
		}
		a, b := loaded(t, opt, write(first)), loaded(t, opt, write(changed))
		for q := range queries {
			for k := range teachers {
				require.Equal(t, first[q*teachers+k], a.At(q, k))
				require.Equal(t, changed[q*teachers+k], b.At(q, k))
			}
		}
	})
}

// TestWrongProbabilities: a message names file, query and teacher, and no number of the file.
func TestWrongProbabilities(t *testing.T) {
	opt := votes.Options{Classes: 3, Probabilities: true}
	turned := opt
	turned.Transpose = true
	for what, row := range map[string][]float64{
		"a probability is NaN or missing":        {math.NaN(), .5, .5},
		"a probability is negative or too large": {-.125, .625, .5},
		"the sum differs from 1":                 {.125, .625, .125},
		"the sum differs from 1 by":              {5, 90, 5},
		"the sum differs from 1 by more":         {math.Inf(1), 0, 0},
	} {
		at := func(q, k, c int) float64 {
			if q == 2 && k == 1 {
				return row[c]
			}
			return shareOf(q, k, c)
		}
		where := "the probabilities of teacher 1 on query 2 (both from 0): " + what
		for _, fortran := range []bool{false, true} {
			_, err := votes.OpenIn(opt, cube("<f8", fortran, 5, 4, 3, at))
			require.ErrorContains(t, err, where)
			require.ErrorContains(t, err, "votes0")
			_, err = votes.OpenIn(turned, cube("<f8", fortran, 4, 5, 3, func(a, b, c int) float64 { return at(b, a, c) }))
			require.ErrorContains(t, err, where)
		}
		lines := strings.SplitAfter(shareText("", 1), "\n")
		lines[2] = strings.ReplaceAll(fmt.Sprintf("%g,%g,%g\n", row[0], row[1], row[2]), "NaN", "")
		_, err := votes.OpenIn(opt, []byte(shareText("", 0)), []byte(strings.Join(lines, "")))
		require.ErrorContains(t, err, where)
		require.ErrorContains(t, err, "votes1")
		for _, number := range []string{".125", ".625", "90", "Inf"} {
			require.NotContains(t, err.Error(), number)
		}
	}
	for want, files := range map[string][][]byte{
		"has the probabilities of one teacher":            {[]byte(shareText("", 0))},
		"holds an array of 3 dimensions":                  {cube("<f8", false, 5, 4, 3, shareOf), cube("<f8", false, 5, 4, 3, shareOf)},
		"has probabilities of 4 classes, but there are 3": {cube("<f8", false, 5, 3, 4, func(_, _, _ int) float64 { return .25 })},
		"has probabilities of 2 classes, but there are 3": {[]byte("0.5,0.5\n"), []byte("0.5,0.5\n")},
		"a probability is not a number":                   {[]byte("0.5,x,0.5\n0.5,x,0.5\n"), []byte("0.5,0.5,0\n")},
		"has 5 votes, but votes0 has 1":                   {[]byte("0.5,0.5,0\n"), []byte(shareText("", 1))},
		"row 2 has 2 probabilities, but the other rows":   {[]byte("0.5,0.5,0\n0.5,0.5\n0.5,0.5,0\n"), []byte("0.5,0.5,0\n")},
	} {
		none := opt
		none.Header = votes.HeaderNo
		require.ErrorContains(t, testkit.Err(votes.OpenIn(none, files...)), want)
	}
	_, err := votes.OpenIn(votes.Options{Classes: 3, Counts: true, Probabilities: true}, cube("<f8", false, 5, 4, 3, shareOf))
	require.ErrorContains(t, err, "Counts and Probabilities exclude each other")
}

func FuzzProbabilities(f *testing.F) {
	f.Add(cube("<f8", false, 2, 2, 3, shareOf), 3, byte(0))
	f.Add(cube("<f2", true, 2, 2, 3, shareOf), 3, byte(2))
	f.Add(cube("|i1", false, 1, 2, 3, func(_, _, c int) float64 { return float64(c / 2) }), 3, byte(0))
	f.Add([]byte(shareText("", 0)), 3, byte(16))
	f.Add([]byte(shareText("flu,-1,é\n", 0)), 3, byte(16+32))
	f.Add([]byte("1e-3,.999,\n,,\n"), 3, byte(16))
	f.Add(npyFloats("2, 3", .5, .5, 0, 0, 0, 1), 3, byte(16))
	f.Fuzz(func(t *testing.T, file []byte, classes int, flags byte) {
		opt := fuzzOptions(classes, flags&^1)
		opt.Probabilities = true
		files := [][]byte{file}
		if flags&16 != 0 {
			files = append(files, file)
		}
		s, err := votes.OpenIn(opt, files...)
		report, reportErr := votes.CheckIn(opt, files...)
		require.Equal(t, err == nil, reportErr == nil)
		if err != nil {
			require.Equal(t, err.Error(), reportErr.Error())
			return
		}
		require.NoError(t, report.FirstInvalid)
		require.Equal(t, s.Hash(), report.Hash)
		require.Zero(t, report.Abstentions)
		if !votes.Packed(file) {
			require.LessOrEqual(t, s.Queries()*s.Teachers(), len(files)*len(file))
		}
	})
}

func randomVotes(t require.TestingT, queries, count, classes int, seed uint64) *votes.Matrix {
	v := testkit.Must(votes.New(queries, count, classes))
	rnd := rand.New(rand.NewPCG(seed, 1))
	for q := range queries {
		for c := range count {
			require.NoError(t, v.Set(q, c, rnd.IntN(classes+1)-1))
		}
	}
	return v
}

func TestVotesComeBackFromTheirFile(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.SampledFrom([]int{2, 10, 127, 128, 1000, votes.MaxClasses}).Draw(t, "classes")
		v := randomVotes(t, rapid.IntRange(0, 20).Draw(t, "queries"), rapid.IntRange(1, 20).Draw(t, "teachers"), classes, rapid.Uint64().Draw(t, "seed"))
		path := filepath.Join(dir, "votes.npy")
		require.NoError(t, v.Save(path))
		back := testkit.Must(votes.Load(path, classes))
		require.Equal(t, v.Hash(), back.Hash())
		for q := range v.Queries() {
			for c := range v.Teachers() {
				require.Equal(t, v.At(q, c), back.At(q, c))
			}
		}
	})
	require.Equal(t, os.FileMode(0o600), testkit.Must(os.Stat(filepath.Join(dir, "votes.npy"))).Mode().Perm())
}

// npy puts a file together as NumPy does.
func npy(version byte, dict string, data []byte) []byte {
	head := []byte("\x93NUMPY")
	head = append(head, version, 0)
	if version == 1 {
		head = binary.LittleEndian.AppendUint16(head, uint16(len(dict)))
	} else {
		head = binary.LittleEndian.AppendUint32(head, uint32(len(dict)))
	}
	return append(append(head, dict...), data...)
}

func TestVotesCount(t *testing.T) {
	v := testkit.Must(votes.New(4, 5, 4))
	for q, line := range [][]int{
		{2, 2, 1, 2, -1},
		{3, 1, 1, 3, 0},      // a tie: the lowest class
		{-1, -1, -1, -1, -1}, // nobody
		{0, 0, 0, 0, 0},
	} {
		for c, vote := range line {
			require.NoError(t, v.Set(q, c, vote))
		}
	}
	require.Equal(t, []int{2, 1, 0, 0}, v.Pluralities())
	require.Equal(t, []int{2, 0, 0, 5}, v.Gaps())
	require.Equal(t, []int{0, 1, 3, 0}, testkit.Must(v.Histogram(0)).Reveal())
	for _, q := range []int{-1, 4} {
		require.Error(t, testkit.Err(v.Histogram(q)))
	}
	require.Error(t, v.Set(0, 0, 4))
	require.Error(t, v.Set(0, 0, -2))
	require.Panics(t, func() { v.At(0, 5) })
}

func TestVotesShapesThatAreRefused(t *testing.T) {
	for _, shape := range [][3]int{{-1, 1, 2}, {1, 0, 2}, {1, votes.MaxTeachers + 1, 2}, {1, 1, 1}, {1, 1, votes.MaxClasses + 1}, {1 << 62, 250, 10}} {
		require.Error(t, testkit.Err(votes.New(shape[0], shape[1], shape[2])), "%v", shape)
	}
}

func TestHashTellsVotesApart(t *testing.T) {
	v := randomVotes(t, 3, 4, 5, 1)
	before := v.Hash()
	require.NoError(t, v.Set(2, 3, (v.At(2, 3)+2)%5))
	require.NotEqual(t, before, v.Hash())
	seen := map[[32]byte]bool{}
	for _, shape := range [][3]int{{3, 4, 5}, {4, 3, 5}, {12, 1, 5}, {3, 4, 6}, {3, 4, 200}} {
		empty := testkit.Must(votes.New(shape[0], shape[1], shape[2]))
		require.False(t, seen[empty.Hash()])
		seen[empty.Hash()] = true
	}
}

// TestVotesStaySecretWhenPrinted fills a matrix with one telling class.
func TestVotesStaySecretWhenPrinted(t *testing.T) {
	v := testkit.Must(votes.New(3, 2, 100))
	for q := range 3 {
		require.NoError(t, v.Set(q, 0, 77))
	}
	var text strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
		fmt.Fprintf(&text, verb+verb, v, *v)
	}
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: noTime})).Info("votes", "a", v, "b", *v)
	//lint:ignore SA9005 that nothing comes out is what is tested
	text.Write(testkit.Must(json.Marshal(v)))
	for _, secret := range []string{"77", "4d", "-1"} {
		require.NotContains(t, text.String(), secret)
	}
	require.Contains(t, text.String(), "2 teachers on 3 queries")
}
