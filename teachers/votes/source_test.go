package votes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

// TestVotesAreTheSameFromEveryFormat writes one matrix in a drawn format and demands the hash and the
// histograms of the matrix itself.
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
		want := testkit.Must(votes.New(queries, count, classes))
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
				opt.Header = rapid.SampledFrom([]votes.Header{votes.HeaderYes, ""}).Draw(t, "how")
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
		s := opened(t, opt, file)
		require.Equal(t, []int{queries, count, classes}, []int{s.Queries(), s.Teachers(), s.Classes()})
		require.Equal(t, want.Hash(), s.Hash())
		requireHistograms(t, want, s)
		from := rapid.IntRange(0, queries-1).Draw(t, "from")
		opt.From, opt.To = from, rapid.IntRange(from+1, queries).Draw(t, "to")
		part := opened(t, opt, file)
		require.Equal(t, want.Hash(), part.Hash(), "the hash is of the whole")
		requireHistograms(t, want, part)
		require.Equal(t, want.Hash(), testkit.Must(s.Load(context.Background())).Hash())
	})
}

func requireHistograms(t require.TestingT, want *votes.Matrix, s *votes.Source) {
	query, to := s.Range()
	for b, err := range s.Histograms(context.Background()) {
		require.NoError(t, err)
		require.Equal(t, query, b.Query)
		require.Equal(t, testkit.Must(want.Histogram(query)).Reveal(), b.Histogram.Reveal())
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
		one := opened(t, opt, encodeCSV(",", "\n", false, rows, cols, func(r, c int) string { return fmt.Sprint(at(r, c)) }))
		other := opened(t, opt, encodeNPY(1, rapid.SampledFrom(slices.DeleteFunc(slices.Clone(npyTypes), func(s string) bool { return s == "|b1" })).Draw(t, "type"), rapid.Bool().Draw(t, "fortran"), rows, cols, at))
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
			require.Error(t, testkit.Err(s.Load(context.Background())))
		}
	})
}

// TestTilesJoin reads columns that do not fit into one tile, of all widths of cells and from text too.
func TestTilesJoin(t *testing.T) {
	const queries, count = 301, 7
	cells := agreeingVotes(queries, count, 10)
	at := func(q, c int) int { return int(cells[q*count+c]) }
	for _, classes := range []int{10, 200} {
		want := opened(t, votes.Options{Classes: classes}, encodeNPY(1, "|i1", false, queries, count, at))
		all := testkit.Must(want.Load(context.Background()))
		for _, tile := range []int{1, 7, 100, 64 * 7, 1000, 1 << 20} {
			for _, from := range []int{0, 5, 200} {
				opt := votes.Options{Classes: classes, From: from, To: 250}
				s := testkit.Must(votes.OpenInTiles(opt, tile, encodeNPY(1, "<i4", true, queries, count, at)))
				require.Equal(t, want.Hash(), s.Hash())
				requireHistograms(t, all, s)
				opt.Transpose = true
				s = testkit.Must(votes.OpenInTiles(opt, tile, encodeCSV(",", "\n", false, count, queries, func(r, c int) string { return fmt.Sprint(at(c, r)) })))
				require.Equal(t, want.Hash(), s.Hash())
				requireHistograms(t, all, s)
			}
		}
	}
}

func TestOneFileForEachTeacher(t *testing.T) {
	dir := t.TempDir()
	want := testkit.Must(votes.New(3, 4, 5))
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
	s := testkit.Must(open(pattern))
	require.Equal(t, want.Hash(), s.Hash())
	requireHistograms(t, want, s)
	// Whatever their order, files are sorted.
	s = testkit.Must(open(filepath.Join(dir, "t3.csv"), filepath.Join(dir, "t0.npy"), filepath.Join(dir, "t2.csv"), filepath.Join(dir, "t1.npy")))
	require.Equal(t, want.Hash(), s.Hash())
	require.ErrorContains(t, testkit.Err(open(filepath.Join(dir, "t0.npy"), pattern)), "named twice")
	require.ErrorIs(t, testkit.Err(open(filepath.Join(dir, "nothing*"))), os.ErrNotExist)
	require.ErrorContains(t, testkit.Err(open(dir)), "regular file")
	require.Error(t, testkit.Err(open()))
	require.Error(t, testkit.Err(votes.Open(context.Background(), []string{pattern}, votes.Options{Counts: true})))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "t3.csv"), []byte("2\n-1\n"), 0o600))
	require.ErrorContains(t, testkit.Err(open(pattern)), "has 2 labels")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "t3.csv"), []byte("2\n-1\n7\n"), 0o600))
	require.ErrorContains(t, testkit.Err(open(pattern)), "t3.csv: row 3, column 1 holds a vote outside the classes")
}
